use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::{Either, Ready, ready};
use http::{Request, Response};
use tower::{Layer, Service};

use super::after::Outcome;
use crate::client::{Body, BoxError};

/// Stops every attempt while it is closed.
///
/// A request that passes carries the fence along. The pool asks it once more when the connection is there, because
/// reading credentials and dialling take time. Until the answer begins, the connection asks it directly before each
/// write, in the same poll, and ends when the fence is closed. The default is always open.
#[derive(Clone, Default)]
pub struct FenceLayer {
    fence: Option<Fence>,
}

impl FenceLayer {
    /// Lets requests pass as long as `may_send` does not say why they must not.
    pub fn new(may_send: impl Fn() -> Result<(), BoxError> + Send + Sync + 'static) -> Self {
        Self {
            fence: Some(Fence(Arc::new(may_send))),
        }
    }

    /// Both have to be open.
    pub(crate) fn and(&self, other: Self) -> Self {
        match (self.fence.clone(), other.fence) {
            (Some(one), Some(other)) => Self::new(move || (one.0)().and_then(|()| (other.0)())),
            (one, other) => Self {
                fence: one.or(other),
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

/// Whether requests may still be sent; an extension of those that passed it.
#[derive(Clone)]
pub(crate) struct Fence(Arc<dyn Fn() -> Result<(), BoxError> + Send + Sync>);

impl Fence {
    /// Whether it is the same fence, not only one that says the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn check(&self) -> Result<(), Closed> {
        (self.0)().map_err(Closed)
    }
}

/// The fence was closed: nothing was sent.
#[derive(Debug)]
pub(crate) struct Closed(pub(crate) BoxError);

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not sent: {}", self.0)
    }
}

impl std::error::Error for Closed {}

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
