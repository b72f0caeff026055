use std::task::{Context, Poll};

use http::{HeaderValue, Request, Response, header};
use tower::{Layer, Service};

use crate::client::{Body, BoxError, ConfigError};

/// Names the program, for audit logs and flow control. A request that has a `User-Agent` already is not changed.
#[derive(Clone, Debug)]
pub struct UserAgentLayer {
    value: HeaderValue,
}

impl UserAgentLayer {
    /// `website/1.2.0 (linux/amd64) pilothouse/0.1.0` for the product `website/1.2.0`. Without a product, the name of
    /// the binary takes its place.
    ///
    /// # Errors
    /// The product cannot be in a header.
    pub fn new(product: Option<&str>) -> Result<Self, ConfigError> {
        let product = match product {
            Some(product) => product.to_owned(),
            None => binary().unwrap_or_else(|| "unknown".to_owned()),
        };
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let text = format!(
            "{product} ({}/{architecture}) pilothouse/{}",
            std::env::consts::OS,
            env!("CARGO_PKG_VERSION")
        );
        let value = HeaderValue::from_str(&text).map_err(|_| {
            ConfigError::new("the user agent holds characters that no header may have")
        })?;
        Ok(Self { value })
    }
}

fn binary() -> Option<String> {
    let path = std::env::args_os().next()?;
    let name = std::path::Path::new(&path).file_stem()?.to_str()?;
    // Only the name of a product may stand here (RFC 9110).
    let is_token = |letter: char| letter.is_ascii_alphanumeric() || "-_.+".contains(letter);
    let name: String = name.chars().filter(|letter| is_token(*letter)).collect();
    (!name.is_empty()).then_some(name)
}

impl<S> Layer<S> for UserAgentLayer {
    type Service = UserAgent<S>;

    fn layer(&self, inner: S) -> UserAgent<S> {
        UserAgent {
            inner,
            value: self.value.clone(),
        }
    }
}

/// The service of [`UserAgentLayer`].
#[derive(Clone, Debug)]
pub struct UserAgent<S> {
    inner: S,
    value: HeaderValue,
}

impl<S> Service<Request<Body>> for UserAgent<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        request
            .headers_mut()
            .entry(header::USER_AGENT)
            .or_insert_with(|| self.value.clone());
        self.inner.call(request)
    }
}
