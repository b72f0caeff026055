use futures_core::future::BoxFuture;
use futures_util::future::Either;
use http::{Method, Request};
use tokio::time::Instant;
use tower::Service;

use super::{after::Outcome, counted::Tally};
use crate::client::{Body, BoxError};

/// A request that goes at once, or after a wait.
pub(super) type Held<F> = Either<F, BoxFuture<'static, Outcome>>;

/// Gives `request` to `inner` after `wait`, if there is one. Whoever drops the future gives up.
pub(super) fn call_after<S>(
    wait: Option<BoxFuture<'static, ()>>,
    inner: &mut S,
    request: Request<Body>,
) -> Held<S::Future>
where
    S: Service<Request<Body>, Response = http::Response<Body>, Error = BoxError>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    let Some(wait) = wait else {
        return Either::Left(inner.call(request));
    };
    // The clone was not asked whether it is ready, so the ready one goes.
    let next = inner.clone();
    let mut ready = std::mem::replace(inner, next);
    Either::Right(Box::pin(async move {
        wait.await;
        ready.call(request).await
    }))
}

/// Records a wait when it is over, in whichever way.
pub(super) struct Clock {
    tally: Tally,
    method: Method,
    start: Instant,
}

impl Clock {
    pub(super) fn start(tally: &Tally, method: &Method) -> Self {
        Self {
            tally: tally.clone(),
            method: method.clone(),
            start: Instant::now(),
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        if let Some(series) = self.tally.series() {
            let method = self.method.as_str();
            let waited = self.start.elapsed();
            series.metrics.held_back(method, &series.host, waited);
        }
    }
}
