use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use http::{Extensions, Method, Request, Response};
use tower::{Layer, Service};

use super::and_then::{AndThen, OnOutcome, Outcome};
use crate::{
    client::{Body, BoxError},
    metrics::ClientMetrics,
};

/// Counts each attempt in `rest_client_requests_total`, and each attempt after the first one of a request in
/// `rest_client_request_retries_total`.
#[derive(Clone, Debug)]
pub struct CountLayer {
    counter: RequestCounter,
}

impl CountLayer {
    /// Counts requests to `host` (`name:port`) in `metrics`. `None` counts nothing.
    pub fn new(metrics: Option<ClientMetrics>, host: &str) -> Self {
        Self {
            counter: RequestCounter::new(metrics, host),
        }
    }

    pub(super) fn counter(&self) -> &RequestCounter {
        &self.counter
    }
}

impl<S> Layer<S> for CountLayer {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            counter: self.counter.clone(),
        }
    }
}

/// Counts the requests to one host. The layers hold one of these and are cloned for each request, so it is no larger
/// than a pointer.
#[derive(Clone, Debug)]
pub(super) struct RequestCounter(Option<Arc<HostMetrics>>);

/// The metrics of one host.
#[derive(Debug)]
pub(super) struct HostMetrics {
    pub(super) metrics: ClientMetrics,
    pub(super) host: Box<str>,
}

impl RequestCounter {
    pub(super) fn new(metrics: Option<ClientMetrics>, host: &str) -> Self {
        let series = metrics.map(|metrics| HostMetrics {
            metrics,
            host: host.into(),
        });
        Self(series.map(Arc::new))
    }

    /// `None` if nothing is counted.
    pub(super) fn series(&self) -> Option<&Arc<HostMetrics>> {
        self.0.as_ref()
    }

    /// Counts an attempt with the code of its answer. `None` if there was no answer.
    pub(super) fn count(&self, code: Option<u16>, method: &Method, attempts: Option<&Attempts>) {
        let earlier = attempts.map_or(0, |attempts| attempts.0.fetch_add(1, Ordering::Relaxed));
        if let Some(HostMetrics { metrics, host }) = self.series().map(|series| &**series) {
            metrics.request(code, method.as_str(), host);
            if earlier > 0 {
                metrics.retry(code, method.as_str(), host);
            }
        }
    }
}

/// How often a request was sent. An extension of the request, shared by all of its copies.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts(Arc<AtomicU32>);

impl Attempts {
    /// The counter of a request.
    pub(super) fn of(extensions: &mut Extensions) -> Self {
        extensions.get_or_insert_with(Self::default).clone()
    }

    pub(super) fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The service of [`CountLayer`].
#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    counter: RequestCounter,
}

impl<S> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = AndThen<S::Future, Count>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let count = Count {
            counter: self.counter.clone(),
            attempts: request.extensions().get().cloned(),
            method: request.method().clone(),
        };
        AndThen::new(self.inner.call(request), count)
    }
}

pub struct Count {
    counter: RequestCounter,
    attempts: Option<Attempts>,
    method: Method,
}

impl OnOutcome for Count {
    fn then(self, outcome: Outcome) -> Outcome {
        let code = outcome.as_ref().ok();
        let code = code.map(|response| response.status().as_u16());
        self.counter
            .count(code, &self.method, self.attempts.as_ref());
        outcome
    }
}
