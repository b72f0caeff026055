use futures_core::future::BoxFuture;
use futures_util::future::Either;
use http::{Method, Request};
use tokio::time::Instant;
use tower::Service;

use super::{and_then::Outcome, counted::RequestCounter};
use crate::client::{Body, BoxError};

/// A call that starts at once, or after a wait.
pub(super) type DelayedCall<F> = Either<F, BoxFuture<'static, Outcome>>;

/// Calls `inner` with `request` after `wait`, if there is a wait. Dropping the future cancels both.
pub(super) fn call_after<S>(
    wait: Option<BoxFuture<'static, ()>>,
    inner: &mut S,
    request: Request<Body>,
) -> DelayedCall<S::Future>
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
    // The service that was polled ready must take the call, not its clone.
    let next = inner.clone();
    let mut ready = std::mem::replace(inner, next);
    Either::Right(Box::pin(async move {
        wait.await;
        ready.call(request).await
    }))
}

/// Records the duration of a wait when it is dropped, also if the wait was cancelled.
pub(super) struct WaitTimer {
    counter: RequestCounter,
    method: Method,
    start: Instant,
}

impl WaitTimer {
    pub(super) fn start(counter: &RequestCounter, method: &Method) -> Self {
        Self {
            counter: counter.clone(),
            method: method.clone(),
            start: Instant::now(),
        }
    }
}

impl Drop for WaitTimer {
    fn drop(&mut self) {
        if let Some(series) = self.counter.series() {
            let method = self.method.as_str();
            let waited = self.start.elapsed();
            series.metrics.held_back(method, &series.host, waited);
        }
    }
}
