use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderValue, Request, Response, header};
use tower::Service;

use super::{
    after::{After, Outcome, Then},
    warnings::Warnings,
};
use crate::client::{Body, BoxError};

/// Says which program asks, and logs the server's warnings.
#[derive(Clone)]
pub(crate) struct Headers<S> {
    inner: S,
    user_agent: HeaderValue,
    warnings: Arc<Warnings>,
}

impl<S> Headers<S> {
    pub(crate) fn new(inner: S, user_agent: HeaderValue) -> Self {
        Self {
            inner,
            user_agent,
            warnings: Arc::default(),
        }
    }
}

impl<S> Service<Request<Body>> for Headers<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = After<S::Future, Listen>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        request
            .headers_mut()
            .entry(header::USER_AGENT)
            .or_insert_with(|| self.user_agent.clone());
        After::new(self.inner.call(request), Listen(self.warnings.clone()))
    }
}

pub(crate) struct Listen(Arc<Warnings>);

impl Then for Listen {
    fn then(self, outcome: Outcome) -> Outcome {
        let response = outcome?;
        for value in response.headers().get_all(header::WARNING) {
            self.0.hear(value);
        }
        Ok(response)
    }
}
