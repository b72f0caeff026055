use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};
use tower::{Layer, Service};

use super::{
    counted::{CountLayer, RequestCounter},
    delayed_call::{DelayedCall, WaitTimer, call_after},
};
use crate::client::{Body, BoxError, config::RateLimit, request::RequestClass};

/// Limits the rate of requests with a token bucket. The default is no limit.
///
/// Requests continue in the order in which they came. Watches do not wait. The wait counts in
/// `rest_client_rate_limiter_duration_seconds`, and the total deadline of the request limits it. See
/// [`Config::with_rate_limit`](crate::client::Config::with_rate_limit).
#[derive(Clone, Debug)]
pub struct RateLimitLayer {
    bucket: Option<Arc<Bucket>>,
    counter: RequestCounter,
}

impl RateLimitLayer {
    /// A layer with `limit`, which counts waits in the metrics of `count`.
    pub(crate) fn new(limit: Option<RateLimit>, count: &CountLayer) -> Self {
        Self {
            bucket: limit.map(Bucket::new).map(Arc::new),
            counter: count.counter().clone(),
        }
    }

    /// A layer with the same settings and its own bucket.
    pub(crate) fn unshared(&self) -> Self {
        let limit = self.bucket.as_ref().map(|bucket| bucket.limit);
        Self {
            bucket: limit.map(Bucket::new).map(Arc::new),
            counter: self.counter.clone(),
        }
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimited<S>;

    fn layer(&self, inner: S) -> RateLimited<S> {
        RateLimited {
            inner,
            layer: self.clone(),
        }
    }
}

/// A token bucket, stored as the time at which it would be full again.
#[derive(Debug)]
struct Bucket {
    limit: RateLimit,
    full_at: Mutex<Instant>,
}

impl Bucket {
    fn new(limit: RateLimit) -> Self {
        Self {
            limit,
            full_at: Mutex::new(Instant::now()),
        }
    }

    /// Takes a token. Returns when the token is available, if it is not available now.
    fn take(&self) -> Option<Instant> {
        let RateLimit { interval, burst } = self.limit;
        let now = Instant::now();
        let mut full_at = self.full_at.lock();
        let missing = full_at.saturating_duration_since(now);
        *full_at = now + missing + interval;
        let wait = missing.saturating_sub(interval.saturating_mul(burst.saturating_sub(1)));
        (wait > Duration::ZERO).then(|| now + wait)
    }
}

/// The service of [`RateLimitLayer`].
#[derive(Clone, Debug)]
pub struct RateLimited<S> {
    inner: S,
    layer: RateLimitLayer,
}

impl<S> Service<Request<Body>> for RateLimited<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = DelayedCall<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_watch = request.extensions().get() == Some(&RequestClass::Watch);
        let bucket = self.layer.bucket.as_ref().filter(|_| !is_watch);
        let wait = bucket.and_then(|bucket| {
            // Requests that do not wait are counted, too, so that the metrics show the share of those that wait.
            let clock = WaitTimer::start(&self.layer.counter, request.method());
            let at = bucket.take()?;
            Some(Box::pin(async move {
                sleep_until(at).await;
                drop(clock);
            }) as _)
        });
        call_after(wait, &mut self.inner, request)
    }
}
