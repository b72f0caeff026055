use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_core::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use tower::{Layer, Service, ServiceExt};

use super::{
    after::Outcome,
    counted::{Attempts, CountLayer, Tally},
    exec::{Credential, Plugin},
    identity_files::IdentityFiles,
    token::{TokenFile, bearer, sensitive},
};
use crate::{
    client::{Body, BoxError, Config, ConfigError, Credentials, transport::CurrentTls},
    metrics::ExecMetrics,
};

/// Says who the client is, by a header or by the certificate of the connection. A request that
/// bears the header already keeps it.
///
/// After 401 the credentials are read again, once, and if they changed the request is sent again:
/// the server has refused to look at it, so this is safe for writes.
///
/// Clones share the credentials: a plugin runs once for all of them.
#[derive(Clone)]
pub struct AuthLayer {
    authenticator: Arc<Authenticator>,
    tally: Tally,
}

impl AuthLayer {
    pub(crate) fn new(authenticator: Authenticator, count: &CountLayer) -> Self {
        Self {
            authenticator: Arc::new(authenticator),
            tally: count.tally().clone(),
        }
    }
}

impl fmt::Debug for AuthLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthLayer").finish_non_exhaustive()
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = Auth<S>;

    fn layer(&self, inner: S) -> Auth<S> {
        Auth {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service of [`AuthLayer`].
#[derive(Clone, Debug)]
pub struct Auth<S> {
    inner: S,
    layer: AuthLayer,
}

/// Where the credentials come from.
#[derive(Default)]
pub(crate) struct Authenticator {
    source: Source,
    files: Option<IdentityFiles>,
}

#[derive(Default)]
enum Source {
    #[default]
    None,
    Fixed(HeaderValue),
    File(TokenFile),
    Plugin(Plugin),
}

/// By what a request says who the client is.
struct Shown {
    header: Option<HeaderValue>,
    /// What the header was taken from, if a plugin printed it.
    credential: Option<Arc<Credential>>,
    /// That of the certificate in files.
    generation: u64,
}

impl Authenticator {
    /// Those that `config` names; client certificates that change are shown by `tls`.
    pub(crate) fn new(
        config: &Config,
        tls: Option<Arc<CurrentTls>>,
        metrics: Option<ExecMetrics>,
    ) -> Result<Self, ConfigError> {
        let files = config.tls.identity.as_ref();
        let files = files.filter(|identity| identity.is_in_files()).cloned();
        let files = files.zip(tls.clone());
        let source = match &config.credentials {
            Credentials::None => Source::None,
            Credentials::Token(token) => Source::Fixed(of_token(token)?),
            Credentials::TokenFile(path) => {
                let first = config.first_token.as_ref().map(of_token).transpose()?;
                Source::File(TokenFile::new(path.clone(), first))
            }
            Credentials::Basic { username, password } => {
                let pair = format!("{username}:{}", password.expose_secret());
                let header = sensitive(&format!("Basic {}", BASE64_STANDARD.encode(pair)));
                // base64 always fits a header.
                header.map_or(Source::None, Source::Fixed)
            }
            Credentials::Exec(exec) => {
                let allowed = config.exec_policy.check(exec, &config.credentials_origin);
                if let Some(metrics) = &metrics {
                    metrics.policy(allowed.is_ok());
                }
                allowed?;
                Source::Plugin(Plugin::new(exec, config, tls, metrics))
            }
        };
        Ok(Self {
            source,
            files: files.map(|(identity, tls)| IdentityFiles::new(identity, tls)),
        })
    }

    async fn current(&self) -> Result<Shown, ConfigError> {
        if let Some(files) = &self.files {
            files.check().await;
        }
        let generation = self.files.as_ref().map_or(0, IdentityFiles::generation);
        let (header, credential) = match &self.source {
            Source::None => (None, None),
            Source::Fixed(header) => (Some(header.clone()), None),
            Source::File(file) => (Some(file.header().await?), None),
            Source::Plugin(plugin) => {
                let credential = plugin.current().await?;
                (credential.header.clone(), Some(credential))
            }
        };
        Ok(Shown {
            header,
            credential,
            generation,
        })
    }

    /// What to show instead of what the server refused, if there is something newer.
    async fn newer(&self, refused: Shown) -> Option<Option<HeaderValue>> {
        let header = match (&self.source, &refused) {
            (
                Source::File(file),
                Shown {
                    header: Some(header),
                    ..
                },
            ) => file.newer(header).await.map(Some),
            (
                Source::Plugin(plugin),
                Shown {
                    credential: Some(credential),
                    ..
                },
            ) => match plugin.newer(credential).await {
                Ok(newer) => newer.map(|newer| newer.header.clone()),
                Err(error) => {
                    tracing::warn!("the server refused the credentials, and {error}");
                    None
                }
            },
            _ => None,
        };
        let other_certificate = match &self.files {
            Some(files) => files.is_newer(refused.generation).await,
            None => false,
        };
        header.or_else(|| other_certificate.then_some(refused.header))
    }

    fn can_change(&self) -> bool {
        self.files.is_some() || matches!(self.source, Source::File(_) | Source::Plugin(_))
    }
}

fn of_token(token: &SecretString) -> Result<HeaderValue, ConfigError> {
    bearer(token.expose_secret().trim())
        .ok_or_else(|| ConfigError::new("the token holds characters that no token has"))
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
        Box::pin(run(inner, self.layer.clone(), request))
    }
}

async fn run<S>(mut inner: S, layer: AuthLayer, mut request: Request<Body>) -> Outcome
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    if request.headers().contains_key(header::AUTHORIZATION) {
        return inner.call(request).await;
    }
    let AuthLayer {
        authenticator,
        tally,
    } = layer;
    let shown = authenticator.current().await?;
    let replay = authenticator
        .can_change()
        .then(|| super::retry::clone(&request))
        .flatten();
    show(&mut request, shown.header.clone());
    let response = inner.call(request).await?;
    if response.status() != StatusCode::UNAUTHORIZED {
        return Ok(response);
    }
    let Some(mut replay) = replay else {
        return Ok(response);
    };
    let Some(newer) = authenticator.newer(shown).await else {
        return Ok(response);
    };
    let code = Some(response.status().as_u16());
    drop(response);
    // The layer around this one counts only the last.
    let attempts = replay.extensions().get::<Attempts>();
    tally.count(code, replay.method(), attempts);
    show(&mut replay, newer);
    inner.ready().await?.call(replay).await
}

fn show(request: &mut Request<Body>, header: Option<HeaderValue>) {
    if let Some(header) = header {
        request.headers_mut().insert(header::AUTHORIZATION, header);
    }
}
