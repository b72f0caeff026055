use std::{error::Error as _, io, pin::pin};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use secrecy::ExposeSecret;

use crate::client::{ProxyProblem, config::ProxyUser, transport::Io};

/// Asks the HTTP proxy on `stream` for a tunnel to `target` (`host:port`), with `CONNECT` (RFC 9110, 9.3.6).
pub(super) async fn tunnel(
    stream: Box<dyn Io>,
    target: &str,
    user: Option<&ProxyUser>,
) -> Result<Box<dyn Io>, ProxyProblem> {
    let mut request = Request::connect(target).header(header::HOST, target);
    if let Some(user) = user {
        let (name, password) = (user.name.expose_secret(), user.password.expose_secret());
        let encoded = BASE64_STANDARD.encode(format!("{name}:{password}"));
        // base64 text is always a valid header value.
        if let Ok(mut value) = HeaderValue::try_from(format!("Basic {encoded}")) {
            value.set_sensitive(true);
            request = request.header(header::PROXY_AUTHORIZATION, value);
        }
    }
    // The configuration has already refused hosts that are not valid in a URI.
    let request = request
        .body(Empty::<Bytes>::new())
        .map_err(|error| ProxyProblem::Io(io::Error::other(error)))?;
    let (mut sender, connection) = http1::Builder::new()
        // Some proxies accept the header only in this spelling.
        .title_case_headers(true)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(of_hyper)?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(of_hyper)?;
        if !response.status().is_success() {
            return Err(of_status(response.status(), user.is_some()));
        }
        let upgraded = hyper::upgrade::on(response).await.map_err(of_hyper)?;
        // The stream begins with the bytes that the proxy sent directly after its response.
        Ok(Box::new(TokioIo::new(upgraded)) as Box<dyn Io>)
    };
    let mut exchange = pin!(exchange);
    tokio::select! {
        outcome = &mut exchange => outcome,
        // It returns the stream when it ends. If it ends otherwise, the exchange knows why.
        _ = connection.with_upgrades() => exchange.await,
    }
}

fn of_status(status: StatusCode, given: bool) -> ProxyProblem {
    let response = status.to_string();
    match status {
        StatusCode::PROXY_AUTHENTICATION_REQUIRED | StatusCode::UNAUTHORIZED => {
            ProxyProblem::Credentials { given }
        }
        StatusCode::FORBIDDEN => ProxyProblem::Forbidden { response },
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            ProxyProblem::Unreachable { response }
        }
        _ => ProxyProblem::Refused { response },
    }
}

fn of_hyper(error: hyper::Error) -> ProxyProblem {
    if error.is_parse() {
        return ProxyProblem::Protocol { expected: "HTTP" };
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return ProxyProblem::Closed;
    }
    let inner = error.source().and_then(|inner| inner.downcast_ref());
    let kind = inner.map_or(io::ErrorKind::Other, io::Error::kind);
    ProxyProblem::of_io(io::Error::new(kind, error))
}
