use std::task::{Context, Poll};

use http::{Request, Response};
use tower::Service;
use tracing::{Instrument, Span, field::Empty, instrument::Instrumented};

use super::after::{After, Outcome, Then};
use crate::client::{Body, BoxError};

/// One span per request, under OpenTelemetry's names. The query is left out, and so are headers
/// and bodies.
#[derive(Clone)]
pub(crate) struct Traced<S> {
    pub(crate) inner: S,
}

impl<S> Service<Request<Body>> for Traced<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = After<Instrumented<S::Future>, Record>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let span = tracing::debug_span!(
            "request",
            otel.kind = "client",
            http.request.method = %request.method(),
            url.path = request.uri().path(),
            http.response.status_code = Empty,
            error = Empty,
        );
        let future = self.inner.call(request).instrument(span.clone());
        After::new(future, Record(span))
    }
}

pub(crate) struct Record(Span);

impl Then for Record {
    fn then(self, outcome: Outcome) -> Outcome {
        match &outcome {
            Ok(response) => {
                let code = response.status().as_u16();
                self.0.record("http.response.status_code", code);
            }
            Err(error) => {
                self.0.record("error", tracing::field::display(error));
            }
        }
        outcome
    }
}
