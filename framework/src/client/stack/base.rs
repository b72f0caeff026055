use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response, Uri};
use tower::{Layer, Service};

use crate::client::{Body, BoxError};

/// Puts the path of the server's address in front of the request's path. Some proxies need such a path. The pool sets
/// scheme and host.
#[derive(Clone, Debug)]
pub struct BaseLayer {
    prefix: Option<Arc<str>>,
}

impl BaseLayer {
    /// The layer for the server at `server`, such as `https://proxy/clusters/one`.
    pub fn new(server: &Uri) -> Self {
        let prefix = server.path().trim_end_matches('/');
        Self {
            prefix: (!prefix.is_empty()).then(|| prefix.into()),
        }
    }
}

impl<S> Layer<S> for BaseLayer {
    type Service = Base<S>;

    fn layer(&self, inner: S) -> Base<S> {
        Base {
            inner,
            prefix: self.prefix.clone(),
        }
    }
}

/// The service of [`BaseLayer`].
#[derive(Clone, Debug)]
pub struct Base<S> {
    inner: S,
    prefix: Option<Arc<str>>,
}

impl<S> Service<Request<Body>> for Base<S>
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
        if let Some(prefix) = &self.prefix {
            let path = request
                .uri()
                .path_and_query()
                .map_or("/", |path| path.as_str());
            // Both parts come from valid URIs, so together they are valid.
            if let Ok(uri) = format!("{prefix}{path}").parse() {
                *request.uri_mut() = uri;
            }
        }
        self.inner.call(request)
    }
}
