use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response, StatusCode};
use tower::{Layer, Service};

use super::{
    after::{After, Outcome, Then},
    brake::{Asked, Brake},
    counted::{CountLayer, Tally},
    held::{Clock, Held, call_after},
    retry_after,
};
use crate::client::{Body, BoxError};

/// Holds further requests of a flow back when the server said 429 to one of them.
///
/// A flow is what API priority and fairness tells apart, seen from one client: verb, resource and
/// namespace. Others go on, because nothing is known of them. The flow waits as long as
/// `Retry-After` says, a minute at most; then its requests go one every 10 ms, in the order in which
/// they came, until nobody waits any more. A 429 without `Retry-After` holds nothing back, and one of an
/// eviction, which tells of a disruption budget, holds back only that Pod's.
///
/// The wait counts in `rest_client_rate_limiter_duration_seconds`, and is bounded by the request's
/// total deadline.
#[derive(Clone, Debug)]
pub struct BackPressureLayer {
    brake: Arc<Brake>,
    tally: Tally,
}

impl BackPressureLayer {
    /// Counts where `count` does.
    pub fn new(count: &CountLayer) -> Self {
        Self {
            brake: Arc::default(),
            tally: count.tally().clone(),
        }
    }

    /// Another of the same settings that knows nothing of what this one holds back.
    pub(crate) fn apart(&self) -> Self {
        Self {
            brake: Arc::default(),
            tally: self.tally.clone(),
        }
    }
}

impl<S> Layer<S> for BackPressureLayer {
    type Service = BackPressure<S>;

    fn layer(&self, inner: S) -> BackPressure<S> {
        BackPressure {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service of [`BackPressureLayer`].
#[derive(Clone, Debug)]
pub struct BackPressure<S> {
    inner: S,
    layer: BackPressureLayer,
}

impl<S> Service<Request<Body>> for BackPressure<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = After<Held<S::Future>, Hear>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let BackPressureLayer { brake, tally } = &self.layer;
        let asked = Asked::of(&request);
        let flow = (!brake.is_idle()).then(|| asked.flow());
        let wait = flow.and_then(|flow| {
            let slot = brake.slot(&flow)?;
            let clock = Clock::start(tally, request.method());
            let brake = brake.clone();
            Some(Box::pin(async move {
                brake.wait(&flow, slot).await;
                drop(clock);
            }) as _)
        });
        let hear = Hear {
            brake: brake.clone(),
            asked,
        };
        After::new(call_after(wait, &mut self.inner, request), hear)
    }
}

pub struct Hear {
    brake: Arc<Brake>,
    asked: Asked,
}

impl Then for Hear {
    fn then(self, outcome: Outcome) -> Outcome {
        if let Ok(response) = &outcome
            && response.status() == StatusCode::TOO_MANY_REQUESTS
            && let Some(pause) = retry_after(response.headers())
        {
            self.brake.hold(self.asked.flow(), pause);
        }
        outcome
    }
}
