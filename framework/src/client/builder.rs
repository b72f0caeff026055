use std::sync::Arc;

use http::{HeaderValue, Request, Response, uri::Scheme};
use tower::{Layer, Service, ServiceExt, util::BoxCloneSyncService};

use super::{
    Body, BoxError, Client, Config, ConfigError, Connector, Credentials, Error,
    client::ClientInner,
    stack::{
        Answer, Auth, Authenticator, Base, Counted, Dispatch, Headers, Impersonate, RequestService,
        Retry, Total, Traced,
    },
    transport::{CurrentTls, Dialer, Pool},
};
use crate::metrics::Metrics;

/// Builds a [`Client`].
pub struct ClientBuilder {
    config: Config,
    user_agent: Option<String>,
    metrics: Option<Metrics>,
    connector: Option<Arc<dyn Connector>>,
    layers: Vec<Box<dyn FnOnce(RequestService) -> RequestService + Send>>,
}

impl ClientBuilder {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            user_agent: None,
            metrics: None,
            connector: None,
            layers: Vec::new(),
        }
    }

    /// Count what is sent in `metrics`; the default counts nothing.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Say `user_agent`, such as `website/1.2.0`, in front of system and framework; the default is
    /// the binary's name.
    #[must_use]
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = Some(user_agent.into());
        self
    }

    /// Reach the server by `connector` instead of TCP and TLS.
    #[must_use]
    pub fn connector(mut self, connector: Arc<dyn Connector>) -> Self {
        self.connector = Some(connector);
        self
    }

    /// Put `layer` around everything: it sees each request once, however often it is sent. The
    /// layer added last is the outermost.
    #[must_use]
    pub fn layer<L, B>(mut self, layer: L) -> Self
    where
        L: Layer<RequestService> + Send + 'static,
        L::Service: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request<Body>>>::Error: Into<BoxError>,
        <L::Service as Service<Request<Body>>>::Future: Send + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.layers.push(Box::new(move |stack| {
            BoxCloneSyncService::new(
                layer
                    .layer(stack)
                    .map_response(|response: Response<B>| response.map(Body::new))
                    .map_err(Into::into),
            )
        }));
        self
    }

    /// The client.
    ///
    /// # Errors
    /// [`Error::Config`] when a certificate, a key or the user agent cannot be used.
    pub fn build(self) -> Result<Client, Error> {
        let config = self.config;
        let advice_on_401 = Some(config.advice_on_401().into());
        let user_agent = user_agent(self.user_agent.as_deref())?;
        let host = config.url.authority().map_or("", |host| host.as_str());
        let host: Arc<str> = host.into();
        let has_connector = self.connector.is_some();
        let dialer = Dialer::new(&config, self.connector)?;
        let authenticator = authenticator(&config, has_connector, dialer.tls())?;
        let pool = Pool::new(dialer);

        let answer = Answer {
            inner: pool,
            limit: config.answer_timeout,
        };
        let described = Headers::new(Base::new(answer, &config.url), user_agent);
        let attempt = Auth {
            inner: Impersonate::new(described, config.impersonation.as_ref())?,
            authenticator: Arc::new(authenticator),
        };
        let attempts = Retry {
            inner: Counted {
                inner: attempt,
                metrics: self.metrics.map(|metrics| metrics.client()),
                host,
            },
        };
        let request = Total {
            inner: Traced { inner: attempts },
            limit: config.total_timeout,
        };
        let stack: Box<dyn Dispatch> = if self.layers.is_empty() {
            Box::new(request)
        } else {
            let stack = RequestService::new(request);
            Box::new(self.layers.into_iter().fold(stack, |stack, add| add(stack)))
        };
        Ok(Client {
            inner: Arc::new(ClientInner {
                stack,
                default_namespace: config.default_namespace,
                server: config.url.to_string(),
                advice_on_401,
            }),
        })
    }
}

/// Credentials go over TLS only, as with kubectl, or over a connector that the program brought.
fn authenticator(
    config: &Config,
    has_connector: bool,
    tls: Option<Arc<CurrentTls>>,
) -> Result<Authenticator, ConfigError> {
    let has_some = !matches!(config.credentials, Credentials::None);
    let secure = config.url.scheme() == Some(&Scheme::HTTPS) || has_connector;
    if has_some && !secure {
        tracing::warn!("{} is not https: the credentials are not sent", config.url);
        return Ok(Authenticator::default());
    }
    Authenticator::new(config, tls)
}

/// `website/1.2.0 (linux/amd64) pilothouse/0.1.0`: which program asks, for audit logs and flow
/// control.
fn user_agent(own: Option<&str>) -> Result<HeaderValue, ConfigError> {
    let binary = || {
        let path = std::env::args_os().next()?;
        let name = std::path::Path::new(&path).file_stem()?.to_str()?;
        // Only a product's name may stand here (RFC 9110).
        let is_token = |letter: char| letter.is_ascii_alphanumeric() || "-_.+".contains(letter);
        let name: String = name.chars().filter(|letter| is_token(*letter)).collect();
        (!name.is_empty()).then_some(name)
    };
    let own = match own {
        Some(own) => own.to_owned(),
        None => binary().unwrap_or_else(|| "unknown".to_owned()),
    };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let text = format!(
        "{own} ({}/{architecture}) pilothouse/{}",
        std::env::consts::OS,
        env!("CARGO_PKG_VERSION")
    );
    HeaderValue::from_str(&text)
        .map_err(|_| ConfigError::new("the user agent holds characters that no header may have"))
}
