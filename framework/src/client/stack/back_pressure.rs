use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response, StatusCode};
use tower::{Layer, Service};

use super::{
    and_then::{AndThen, OnOutcome, Outcome},
    counted::{CountLayer, RequestCounter},
    delayed_call::{DelayedCall, WaitTimer, call_after},
    flow_throttle::{FlowParts, FlowThrottle},
    retry_after,
};
use crate::client::{Body, BoxError};

/// Delays further requests of a flow after the server answered one of them with 429.
///
/// A flow is what API priority and fairness distinguishes, as far as a client can see it: verb, resource and namespace.
/// Other flows continue. The flow waits as long as `Retry-After` says, at most a minute. Then one of its requests
/// continues every 10 ms, in the order in which they came, until none waits. A 429 without `Retry-After` delays
/// nothing. A 429 of an eviction comes of a disruption budget; it delays only evictions of that Pod.
///
/// The wait counts in `rest_client_rate_limiter_duration_seconds`. The total deadline of the request limits it.
#[derive(Clone, Debug)]
pub struct BackPressureLayer {
    throttle: Arc<FlowThrottle>,
    counter: RequestCounter,
}

impl BackPressureLayer {
    /// Counts waits in the metrics of `count`.
    pub fn new(count: &CountLayer) -> Self {
        Self {
            throttle: Arc::default(),
            counter: count.counter().clone(),
        }
    }

    /// A layer with the same settings and no delayed flows.
    pub(crate) fn unshared(&self) -> Self {
        Self {
            throttle: Arc::default(),
            counter: self.counter.clone(),
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
    type Future = AndThen<DelayedCall<S::Future>, ThrottleOn429>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let BackPressureLayer { throttle, counter } = &self.layer;
        let flow_parts = FlowParts::of(&request);
        let flow = (!throttle.is_idle()).then(|| flow_parts.flow());
        let wait = flow.and_then(|flow| {
            let slot = throttle.slot(&flow)?;
            let clock = WaitTimer::start(counter, request.method());
            let throttle = throttle.clone();
            Some(Box::pin(async move {
                throttle.wait(&flow, slot).await;
                drop(clock);
            }) as _)
        });
        let throttle_on_429 = ThrottleOn429 {
            throttle: throttle.clone(),
            flow_parts,
        };
        AndThen::new(call_after(wait, &mut self.inner, request), throttle_on_429)
    }
}

pub struct ThrottleOn429 {
    throttle: Arc<FlowThrottle>,
    flow_parts: FlowParts,
}

impl OnOutcome for ThrottleOn429 {
    fn then(self, outcome: Outcome) -> Outcome {
        if let Ok(response) = &outcome
            && response.status() == StatusCode::TOO_MANY_REQUESTS
            && let Some(pause) = retry_after(response.headers())
        {
            self.throttle.throttle(self.flow_parts.flow(), pause);
        }
        outcome
    }
}
