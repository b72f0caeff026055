use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::{Request, Response};
use tower::{Service, ServiceExt, util::BoxCloneSyncService};

use crate::client::{Body, BoxError};

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
