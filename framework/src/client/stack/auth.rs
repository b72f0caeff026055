use std::{
    sync::Arc,
    task::{Context, Poll},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_core::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, header};
use secrecy::ExposeSecret;
use tower::{Service, ServiceExt};

use super::{
    after::Outcome,
    token::{TokenFile, bearer, sensitive},
};
use crate::client::{Body, BoxError, ConfigError, Credentials};

/// Says who the client is. A request that says so itself is left as it is.
///
/// After 401 the credentials are read again, once, and if they changed the request is sent again:
/// the server has refused to look at it, so this is safe for writes.
#[derive(Clone)]
pub(crate) struct Auth<S> {
    pub(crate) inner: S,
    pub(crate) authenticator: Arc<Authenticator>,
}

/// Where the `Authorization` header comes from.
pub(crate) enum Authenticator {
    None,
    Fixed(HeaderValue),
    File(FileAuthenticator),
}

/// A token file.
pub(crate) struct FileAuthenticator(TokenFile);

impl Authenticator {
    pub(crate) fn new(credentials: &Credentials) -> Result<Self, ConfigError> {
        match credentials {
            Credentials::None => Ok(Self::None),
            Credentials::Token(token) => {
                let header = bearer(token.expose_secret().trim());
                header
                    .map(Self::Fixed)
                    .ok_or_else(|| ConfigError::new("the token holds characters that no token has"))
            }
            Credentials::TokenFile(path) => {
                Ok(Self::File(FileAuthenticator(TokenFile::new(path.clone()))))
            }
            Credentials::Basic { username, password } => {
                let pair = format!("{username}:{}", password.expose_secret());
                let header = sensitive(&format!("Basic {}", BASE64_STANDARD.encode(pair)));
                // base64 always fits a header.
                Ok(header.map_or(Self::None, Self::Fixed))
            }
        }
    }

    async fn header(&self) -> Result<Option<HeaderValue>, ConfigError> {
        match self {
            Self::None => Ok(None),
            Self::Fixed(header) => Ok(Some(header.clone())),
            Self::File(FileAuthenticator(file)) => file.header().await.map(Some),
        }
    }

    async fn newer(&self, refused: &HeaderValue) -> Option<HeaderValue> {
        match self {
            Self::None | Self::Fixed(_) => None,
            Self::File(FileAuthenticator(file)) => file.newer(refused).await,
        }
    }

    fn can_change(&self) -> bool {
        matches!(self, Self::File(_))
    }
}

impl<S> Service<Request<Body>> for Auth<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Outcome>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The clone was not asked whether it is ready, so the ready one goes.
        let next = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, next);
        let authenticator = self.authenticator.clone();
        Box::pin(run(inner, authenticator, request))
    }
}

async fn run<S>(
    mut inner: S,
    authenticator: Arc<Authenticator>,
    mut request: Request<Body>,
) -> Outcome
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    if request.headers().contains_key(header::AUTHORIZATION) {
        return inner.call(request).await;
    }
    let Some(used) = authenticator.header().await? else {
        return inner.call(request).await;
    };
    let replay = authenticator
        .can_change()
        .then(|| super::retry::clone(&request))
        .flatten();
    request
        .headers_mut()
        .insert(header::AUTHORIZATION, used.clone());
    let response = inner.call(request).await?;
    if response.status() != StatusCode::UNAUTHORIZED {
        return Ok(response);
    }
    let Some(mut replay) = replay else {
        return Ok(response);
    };
    let Some(newer) = authenticator.newer(&used).await else {
        return Ok(response);
    };
    replay.headers_mut().insert(header::AUTHORIZATION, newer);
    inner.ready().await?.call(replay).await
}
