use std::{future::ready, sync::Arc};

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::{Request, Response};
use tower::{Service, ServiceExt, util::BoxCloneSyncService};

use crate::client::{AccessGuard, Body, BoxError};

/// The whole stack behind one pointer that can be shared.
pub(crate) trait Dispatch: Send + Sync {
    fn dispatch(&self, request: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, BoxError>>;
}

/// A stack of concrete types needs no dynamic calls inside, and no allocation except that of the future.
impl<S> Dispatch for S
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + Sync,
    S::Future: Send,
{
    fn dispatch(&self, request: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, BoxError>> {
        Box::pin(self.clone().oneshot(request))
    }
}

/// The service that a user's layer wraps: the stack, and the layers that were added before.
pub type RequestService = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// Wraps a user's service with its own body and error types.
pub(crate) fn service<S, B>(service: S) -> RequestService
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    BoxCloneSyncService::new(
        service
            .map_response(|response: Response<B>| response.map(Body::new))
            .map_err(Into::into),
    )
}

/// Puts `guards` in front of a stack, outside of everything. Refused requests are not even traced.
pub(crate) fn guarded(
    stack: Box<dyn Dispatch>,
    guards: Arc<[Arc<AccessGuard>]>,
) -> Box<dyn Dispatch> {
    if guards.is_empty() {
        return stack;
    }
    Box::new(Guarded { stack, guards })
}

struct Guarded {
    stack: Box<dyn Dispatch>,
    guards: Arc<[Arc<AccessGuard>]>,
}

impl Dispatch for Guarded {
    fn dispatch(&self, request: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, BoxError>> {
        match self
            .guards
            .iter()
            .try_for_each(|guard| guard.check(&request))
        {
            Ok(()) => self.stack.dispatch(request),
            Err(refused) => Box::pin(ready(Err(refused.into()))),
        }
    }
}
