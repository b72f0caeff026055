use std::{
    fmt,
    task::{Context, Poll},
};

use futures_util::future::{Either, Ready, ready};
use http::{Request, Response};
use tower::{Layer, Service};

use super::and_then::Outcome;
use crate::client::{Body, BoxError, request::Fence};

/// Sends nothing while the fence is closed.
///
/// A request that passes carries the fence along. The pool checks the fence again when it has a connection, because
/// reading credentials and dialing take time. Until the answer begins, the connection checks it directly before each
/// write, in the same poll, and ends when it is closed. The default is always open.
#[derive(Clone, Default)]
pub struct FenceLayer {
    fence: Option<Fence>,
}

impl FenceLayer {
    /// Allows requests as long as `may_send` returns `Ok`. Its error becomes the cause of
    /// [`ErrorKind::Fenced`](crate::client::ErrorKind::Fenced).
    pub fn new(may_send: impl Fn() -> Result<(), BoxError> + Send + Sync + 'static) -> Self {
        Self {
            fence: Some(Fence::new(may_send)),
        }
    }

    /// A layer that allows requests while both are open.
    pub(crate) fn and(&self, other: Self) -> Self {
        Self {
            fence: match (self.fence.clone(), other.fence) {
                (Some(one), Some(other)) => Some(one.and(other)),
                (one, other) => one.or(other),
            },
        }
    }
}

impl fmt::Debug for FenceLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FenceLayer").finish_non_exhaustive()
    }
}

impl<S> Layer<S> for FenceLayer {
    type Service = Fenced<S>;

    fn layer(&self, inner: S) -> Fenced<S> {
        Fenced {
            inner,
            fence: self.fence.clone(),
        }
    }
}

/// The service of [`FenceLayer`].
#[derive(Clone)]
pub struct Fenced<S> {
    inner: S,
    fence: Option<Fence>,
}

impl<S> Service<Request<Body>> for Fenced<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Either<S::Future, Ready<Outcome>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(fence) = &self.fence {
            if let Err(closed) = fence.check() {
                return Either::Right(ready(Err(closed.into())));
            }
            request.extensions_mut().insert(fence.clone());
        }
        Either::Left(self.inner.call(request))
    }
}
