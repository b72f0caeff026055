use std::{
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tokio::time::{Instant, sleep_until};
use tower::{Layer, Service};

use super::{
    counted::{CountLayer, Tally},
    held::{Clock, Held, call_after},
};
use crate::client::{Body, BoxError, class::Class, config::RateLimit};

/// Sends no more requests than a token bucket has tokens for; the default is no limit.
///
/// Requests go in the order in which they came, watches without asking. The wait counts in
/// `rest_client_rate_limiter_duration_seconds` and is bounded by the request's total deadline.
/// See [`Config::with_rate_limit`](crate::client::Config::with_rate_limit).
#[derive(Clone, Debug)]
pub struct RateLimitLayer {
    bucket: Option<Arc<Bucket>>,
    tally: Tally,
}

impl RateLimitLayer {
    /// Limits as `limit` says and counts where `count` does.
    pub(crate) fn new(limit: Option<RateLimit>, count: &CountLayer) -> Self {
        Self {
            bucket: limit.map(Bucket::new).map(Arc::new),
            tally: count.tally().clone(),
        }
    }

    /// Another of the same settings with a bucket of its own.
    pub(crate) fn apart(&self) -> Self {
        let limit = self.bucket.as_ref().map(|bucket| bucket.limit);
        Self {
            bucket: limit.map(Bucket::new).map(Arc::new),
            tally: self.tally.clone(),
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

/// A token bucket, as the time at which it would be full again.
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

    /// Takes a token, and says when it is there if it is not yet.
    fn take(&self) -> Option<Instant> {
        let RateLimit { interval, burst } = self.limit;
        let now = Instant::now();
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
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
    type Future = Held<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_watch = request.extensions().get() == Some(&Class::Watch);
        let bucket = self.layer.bucket.as_ref().filter(|_| !is_watch);
        let wait = bucket.and_then(|bucket| {
            // Also what goes at once counts, so that the share of what waits can be seen.
            let clock = Clock::start(&self.layer.tally, request.method());
            let at = bucket.take()?;
            Some(Box::pin(async move {
                sleep_until(at).await;
                drop(clock);
            }) as _)
        });
        call_after(wait, &mut self.inner, request)
    }
}
