use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use http::{Extensions, Method, Request, Response};
use tower::{Layer, Service};

use super::after::{After, Outcome, Then};
use crate::{
    client::{Body, BoxError},
    metrics::ClientMetrics,
};

/// Counts each attempt in `rest_client_requests_total`, and those after the first of one request in
/// `rest_client_request_retries_total`.
#[derive(Clone, Debug)]
pub struct CountLayer {
    tally: Tally,
}

impl CountLayer {
    /// Counts in `metrics` what is sent to `host`, which is `name:port`; `None` counts nothing.
    pub fn new(metrics: Option<ClientMetrics>, host: &str) -> Self {
        Self {
            tally: Tally::new(metrics, host),
        }
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }
}

impl<S> Layer<S> for CountLayer {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            tally: self.tally.clone(),
        }
    }
}

/// Where is counted what is sent to one host, if anywhere. The layers hold one and are cloned for each request, so
/// that costs no more than one pointer.
#[derive(Clone, Debug)]
pub(super) struct Tally(Option<Arc<Series>>);

/// The metrics of one host.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) metrics: ClientMetrics,
    pub(super) host: Box<str>,
}

impl Tally {
    pub(super) fn new(metrics: Option<ClientMetrics>, host: &str) -> Self {
        let series = metrics.map(|metrics| Series {
            metrics,
            host: host.into(),
        });
        Self(series.map(Arc::new))
    }

    /// `None` if nothing is counted.
    pub(super) fn series(&self) -> Option<&Arc<Series>> {
        self.0.as_ref()
    }

    /// Counts an attempt whose answer had this code, if there was one.
    pub(super) fn count(&self, code: Option<u16>, method: &Method, attempts: Option<&Attempts>) {
        let earlier = attempts.map_or(0, |attempts| attempts.0.fetch_add(1, Ordering::Relaxed));
        if let Some(Series { metrics, host }) = self.series().map(|series| &**series) {
            metrics.request(code, method.as_str(), host);
            if earlier > 0 {
                metrics.retry(code, method.as_str(), host);
            }
        }
    }
}

/// How often a request was sent; an extension of the request, shared by all of its copies.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts(Arc<AtomicU32>);

impl Attempts {
    /// Those of a request.
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
    tally: Tally,
}

impl<S> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = After<S::Future, Count>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let count = Count {
            tally: self.tally.clone(),
            attempts: request.extensions().get().cloned(),
            method: request.method().clone(),
        };
        After::new(self.inner.call(request), count)
    }
}

pub struct Count {
    tally: Tally,
    attempts: Option<Attempts>,
    method: Method,
}

impl Then for Count {
    fn then(self, outcome: Outcome) -> Outcome {
        let code = outcome.as_ref().ok();
        let code = code.map(|response| response.status().as_u16());
        self.tally.count(code, &self.method, self.attempts.as_ref());
        outcome
    }
}
