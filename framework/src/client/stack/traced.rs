use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response, Uri};
use tower::{Layer, Service};
use tracing::{
    Instrument, Span,
    field::{Empty, display},
    instrument::Instrumented,
};

use super::{
    and_then::{AndThen, OnOutcome, Outcome},
    counted::Attempts,
};
use crate::client::{
    Body, BoxError, ConfigError, ConnectError, error::DeadlineExpired, request::RequestPath,
};

/// Creates one span per request, at level debug. Its fields have the names of OpenTelemetry's conventions for HTTP
/// clients: `http.request.method`, `url.full`, `url.path`, `server.address`, `server.port`,
/// `http.response.status_code`, `http.request.resend_count`, `error.type`; and those of the API: `k8s.namespace.name`,
/// `k8s.api.group`, `k8s.api.version`, `k8s.resource`, `k8s.subresource`, `k8s.object.name`.
///
/// The span has no queries, headers and bodies, because they may hold secrets.
#[derive(Clone, Debug)]
pub struct TraceLayer {
    server: Arc<Server>,
}

#[derive(Debug)]
struct Server {
    /// The URL, without `/` at its end.
    url: String,
    address: String,
    port: Option<u16>,
}

impl TraceLayer {
    /// Traces requests to the server at `url`.
    pub fn new(url: &Uri) -> Self {
        let secure = url.scheme_str() == Some("https");
        let default_port = if secure { 443 } else { 80 };
        Self {
            server: Arc::new(Server {
                url: url.to_string().trim_end_matches('/').to_owned(),
                address: url.host().unwrap_or_default().to_owned(),
                port: url.host().map(|_| url.port_u16().unwrap_or(default_port)),
            }),
        }
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = Traced<S>;

    fn layer(&self, inner: S) -> Traced<S> {
        Traced {
            inner,
            server: self.server.clone(),
        }
    }
}

/// The service of [`TraceLayer`].
#[derive(Clone, Debug)]
pub struct Traced<S> {
    inner: S,
    server: Arc<Server>,
}

impl<S> Service<Request<Body>> for Traced<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = AndThen<Instrumented<S::Future>, Record>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let path = request.uri().path();
        let span = tracing::debug_span!(
            "request",
            otel.kind = "client",
            otel.status_code = Empty,
            http.request.method = %request.method(),
            http.request.resend_count = Empty,
            http.response.status_code = Empty,
            url.full = format_args!("{}{path}", self.server.url),
            url.path = path,
            server.address = self.server.address,
            server.port = self.server.port,
            error.type = Empty,
            k8s.namespace.name = Empty,
            k8s.api.group = Empty,
            k8s.api.version = Empty,
            k8s.resource = Empty,
            k8s.subresource = Empty,
            k8s.object.name = Empty,
        );
        let mut attempts = None;
        if !span.is_disabled() {
            if let Some(requested) = RequestPath::parse(path) {
                requested.record(&span);
            }
            attempts = Some(Attempts::of(request.extensions_mut()));
        }
        let future = self.inner.call(request).instrument(span.clone());
        AndThen::new(future, Record { span, attempts })
    }
}

pub struct Record {
    span: Span,
    attempts: Option<Attempts>,
}

impl OnOutcome for Record {
    fn then(self, outcome: Outcome) -> Outcome {
        let Self {
            span,
            attempts: Some(attempts),
        } = self
        else {
            return outcome;
        };
        let sent_again = attempts.count().saturating_sub(1);
        if sent_again > 0 {
            span.record("http.request.resend_count", sent_again);
        }
        match &outcome {
            Ok(response) => {
                let status = response.status();
                span.record("http.response.status_code", status.as_u16());
                if status.is_client_error() || status.is_server_error() {
                    span.record("error.type", status.as_str());
                    span.record("otel.status_code", "ERROR");
                }
            }
            Err(error) => {
                span.record("error.type", display(failure_kind(error)));
                span.record("otel.status_code", "ERROR");
            }
        }
        outcome
    }
}

/// The reason for a failure, as one of few words.
fn failure_kind(error: &BoxError) -> &'static str {
    if error.is::<DeadlineExpired>() {
        "timeout"
    } else if error.is::<ConnectError>() {
        "connect"
    } else if error.is::<ConfigError>() {
        "config"
    } else {
        "transport"
    }
}
