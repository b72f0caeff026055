use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{Method, Request, Response};
use tower::Service;

use super::after::{After, Outcome, Then};
use crate::{
    client::{Body, BoxError},
    metrics::ClientMetrics,
};

/// Counts each attempt in `rest_client_requests_total`.
#[derive(Clone)]
pub(crate) struct Counted<S> {
    pub(crate) inner: S,
    pub(crate) metrics: Option<ClientMetrics>,
    pub(crate) host: Arc<str>,
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
        let count = self.metrics.clone().map(|metrics| Pending {
            metrics,
            host: self.host.clone(),
            method: request.method().clone(),
        });
        After::new(self.inner.call(request), Count(count))
    }
}

pub(crate) struct Count(Option<Pending>);

struct Pending {
    metrics: ClientMetrics,
    host: Arc<str>,
    method: Method,
}

impl Then for Count {
    fn then(self, outcome: Outcome) -> Outcome {
        if let Some(Pending {
            metrics,
            host,
            method,
        }) = self.0
        {
            let code = outcome.as_ref().ok();
            let code = code.map(|response| response.status().as_u16());
            metrics.request(code, method.as_str(), &host);
        }
        outcome
    }
}
