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
    and_then::{AndThen, OnOutcome, Outcome},
    counted::{Attempts, CountLayer, RequestCounter},
    exec::{Credential, Plugin},
    identity_files::IdentityFiles,
    sent_secrets::{OtherSecrets, SentSecrets},
    token::{TokenFile, bearer, sensitive},
};
use crate::{
    client::{
        Body, BoxError, Config, ConfigError, Credentials, codec::Encoding, request::RequestClass,
        transport::CurrentTls,
    },
    metrics::ExecMetrics,
};

/// Authenticates the client, with a header or with the certificate of the connection. A request that has the header
/// already keeps it.
///
/// After a 401, the layer reads the credentials again, once. If they changed, it sends the request again. This is safe
/// for writes, because the server refused to process the request.
///
/// A response that becomes an error carries the credentials of its request as an extension, so that no text of the error
/// shows them.
///
/// Clones share the credentials, so a plugin runs once for all of them.
#[derive(Clone)]
pub struct AuthLayer {
    authenticator: Arc<Authenticator>,
    counter: RequestCounter,
}

impl AuthLayer {
    pub(crate) fn new(authenticator: Authenticator, count: &CountLayer) -> Self {
        Self {
            authenticator: Arc::new(authenticator),
            counter: count.counter().clone(),
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

/// The source of the credentials.
#[derive(Default)]
pub(crate) struct Authenticator {
    source: Source,
    files: Option<IdentityFiles>,
    /// The credentials for the proxy, which no message may show.
    for_proxy: Option<OtherSecrets>,
}

#[derive(Default)]
enum Source {
    #[default]
    None,
    Fixed(HeaderValue),
    File(TokenFile),
    Plugin(Plugin),
}

/// The credentials of one request.
struct Presented {
    header: Option<HeaderValue>,
    /// The credential from which the header was taken, if a plugin printed it.
    credential: Option<Arc<Credential>>,
    /// The generation of the certificate in files.
    generation: u64,
}

impl Authenticator {
    /// The authenticator that presents no credentials.
    pub(crate) fn without_credentials(config: &Config) -> Self {
        Self {
            for_proxy: config.proxy.as_ref().and_then(OtherSecrets::of_proxy),
            ..Self::default()
        }
    }

    /// The authenticator for the credentials in `config`. Certificates that change are presented by `tls`.
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
                // base64 text is always a valid header value.
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
            ..Self::without_credentials(config)
        })
    }

    async fn current(&self) -> Result<Presented, ConfigError> {
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
        Ok(Presented {
            header,
            credential,
            generation,
        })
    }

    /// Credentials that are newer than the refused ones, if there are any.
    async fn newer(&self, refused: Presented) -> Option<Option<HeaderValue>> {
        let header = match (&self.source, &refused) {
            (
                Source::File(file),
                Presented {
                    header: Some(header),
                    ..
                },
            ) => file.newer(header).await.map(Some),
            (
                Source::Plugin(plugin),
                Presented {
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

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // The service that was polled ready must take the call, not its clone.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let layer = self.layer.clone();
        // A block, because the parameters of an `async fn` are stored twice.
        Box::pin(async move {
            let authenticator = &layer.authenticator;
            if let Some(secrets) = &authenticator.for_proxy {
                request.extensions_mut().insert(secrets.clone());
            }
            if request.headers().contains_key(header::AUTHORIZATION) {
                return send(&mut inner, request).await;
            }
            let shown = authenticator.current().await?;
            let replay = authenticator
                .can_change()
                .then(|| super::retry::clone(&request))
                .flatten();
            show(&mut request, shown.header.clone());
            let response = send(&mut inner, request).await?;
            match replay {
                Some(replay) if response.status() == StatusCode::UNAUTHORIZED => {
                    // Boxed because it is rare.
                    Box::pin(send_again(inner, &layer, shown, response, replay)).await
                }
                _ => Ok(response),
            }
        })
    }
}

/// Sends a request again that the server has refused, if there are newer credentials. Otherwise returns the refusal.
async fn send_again<S>(
    mut inner: S,
    layer: &AuthLayer,
    shown: Presented,
    refusal: Response<Body>,
    mut request: Request<Body>,
) -> Outcome
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    let Some(newer) = layer.authenticator.newer(shown).await else {
        return Ok(refusal);
    };
    let code = Some(refusal.status().as_u16());
    drop(refusal);
    // The layer around this one counts only the last attempt.
    let attempts = request.extensions().get::<Attempts>();
    layer.counter.count(code, request.method(), attempts);
    show(&mut request, newer);
    send(inner.ready().await?, request).await
}

/// Sends a request that has its credentials. The response has them as an extension if a text of it may be shown.
fn send<S>(inner: &mut S, request: Request<Body>) -> AndThen<S::Future, KeepSecrets>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    let keep = KeepSecrets {
        secrets: SentSecrets::of(&request),
        is_watch: request.extensions().get() == Some(&RequestClass::Watch),
    };
    AndThen::new(inner.call(request), keep)
}

struct KeepSecrets {
    secrets: SentSecrets,
    /// A watch may end with an error of the server.
    is_watch: bool,
}

impl OnOutcome for KeepSecrets {
    fn then(self, outcome: Outcome) -> Outcome {
        self.secrets.guard(outcome, |response| {
            self.is_watch
                || !response.status().is_success()
                || Encoding::of_body(response.headers()).is_err()
        })
    }
}

fn show(request: &mut Request<Body>, header: Option<HeaderValue>) {
    if let Some(header) = header {
        request.headers_mut().insert(header::AUTHORIZATION, header);
    }
}
