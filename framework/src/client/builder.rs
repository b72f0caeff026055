use std::sync::Arc;

use http::{Request, Response, uri::Scheme};
use tower::{Layer, Service};

use super::{
    Body, BoxError, Client, Config, ConfigError, Connector, Credentials, Encoding, Error,
    blueprint::{AddLayer, Blueprint, PutTogether},
    client::ClientInner,
    codec::Agreed,
    config::RateLimit,
    stack::{
        AnswerLayer, AuthLayer, Authenticator, BackPressureLayer, BaseLayer, CountLayer,
        FenceLayer, GzipLayer, ImpersonateLayer, MeasureLayer, RateLimitLayer, RequestService,
        RetryLayer, Steps, TotalLayer, TraceLayer, UserAgentLayer, WarningsLayer, service,
    },
    transport::{CurrentTls, Dialer, Pool},
};
use crate::metrics::{ExecMetrics, Metrics};

/// Builds a [`Client`].
///
/// ```
/// use pilothouse::{client::{Client, Config}, metrics::Metrics};
///
/// # fn main() -> Result<(), pilothouse::client::Error> {
/// # let my_layer = tower::layer::util::Identity::new();
/// # let metrics = Metrics::new();
/// let config = Config::new("https://host:6443".parse().unwrap());
/// let client = Client::builder(config)
///     .user_agent("website/1.2.0")
///     .metrics(metrics.clone())
///     .layer(my_layer)
///     .build()?;
/// # Ok(()) }
/// ```
pub struct ClientBuilder {
    config: Config,
    user_agent: Option<String>,
    metrics: Option<Metrics>,
    connector: Option<Arc<dyn Connector>>,
    warnings: WarningsLayer,
    encoding: Encoding,
    stack: Option<PutTogether>,
    layers: Vec<AddLayer>,
}

impl ClientBuilder {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            user_agent: None,
            metrics: None,
            connector: None,
            warnings: WarningsLayer::default(),
            encoding: Encoding::default(),
            stack: None,
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

    /// Write and ask for objects in `encoding`, as far as the server takes it; the default is JSON.
    ///
    /// ```
    /// # use pilothouse::client::{Client, Config, Encoding};
    /// # let config = Config::new("https://host:6443".parse().unwrap());
    /// # #[cfg(feature = "cbor")]
    /// let builder = Client::builder(config).encoding(Encoding::Cbor);
    /// ```
    #[must_use]
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Reach the server by `connector` instead of TCP and TLS.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pilothouse::client::{Client, Config};
    /// # let config = Config::new("http://host".parse().unwrap());
    /// let builder = Client::builder(config).connector(Arc::new(|| {
    ///     let (near, far) = tokio::io::duplex(64 * 1024);
    ///     drop(far); // For a server in this process to serve HTTP/2 on.
    ///     Ok(near)
    /// }));
    /// ```
    #[must_use]
    pub fn connector(mut self, connector: Arc<dyn Connector>) -> Self {
        self.connector = Some(connector);
        self
    }

    /// Tell each of the server's warnings once to `handler`, such as that a version is going to be
    /// removed; the default logs them. `handler` must not block.
    ///
    /// ```
    /// # use pilothouse::client::{Client, Config};
    /// # let config = Config::new("https://host:6443".parse().unwrap());
    /// let builder = Client::builder(config).on_warning(|text| eprintln!("Warning: {text}"));
    /// ```
    #[must_use]
    pub fn on_warning(mut self, handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.warnings = WarningsLayer::new(handler);
        self
    }

    /// Put the stack together in another way than [`Steps::request`] does; see [`stack`](super::stack).
    #[must_use]
    pub fn stack<S, B>(mut self, put_together: impl Fn(Steps) -> S + Send + Sync + 'static) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.stack = Some(Arc::new(move |steps| service(put_together(steps))));
        self
    }

    /// Put `layer` around everything: it sees each request once, however often it is sent. The
    /// layer added last is the outermost.
    #[must_use]
    pub fn layer<L, B>(mut self, layer: L) -> Self
    where
        L: Layer<RequestService> + Send + Sync + 'static,
        L::Service: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request<Body>>>::Error: Into<BoxError>,
        <L::Service as Service<Request<Body>>>::Future: Send + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.layers
            .push(Arc::new(move |stack| service(layer.layer(stack))));
        self
    }

    /// The client.
    ///
    /// # Errors
    /// [`Error::Config`] when a certificate, a key, the user agent or a limit cannot be used.
    pub fn build(self) -> Result<Client, Error> {
        let config = self.config;
        let advice_on_401 = Some(config.advice_on_401().into());
        let has_connector = self.connector.is_some();
        let metrics = self.metrics.map(|metrics| metrics.client());
        let dialer = Dialer::new(&config, self.connector, metrics.clone())?;
        let exec = metrics.as_ref().map(|metrics| metrics.exec.clone());
        let authenticator = authenticator(&config, has_connector, dialer.tls(), exec)?;
        let host = config.url.authority().map_or("", |host| host.as_str());
        let count = CountLayer::new(metrics.clone(), host);
        let rate_limit = config.rate_limit;
        let rate_limit = rate_limit.map(|(per_second, burst)| RateLimit::new(per_second, burst));
        let rate_limit = rate_limit.transpose()?;
        let steps = Steps {
            total: TotalLayer::new(config.deadlines.total),
            trace: TraceLayer::new(&config.url),
            measure: MeasureLayer::new(metrics, host),
            retry: RetryLayer::default(),
            back_pressure: BackPressureLayer::new(&count),
            rate_limit: RateLimitLayer::new(rate_limit, &count),
            auth: AuthLayer::new(authenticator, &count),
            count,
            fence: FenceLayer::default(),
            impersonate: ImpersonateLayer::new(config.impersonation.as_ref())?,
            user_agent: UserAgentLayer::new(self.user_agent.as_deref())?,
            warnings: self.warnings,
            base: BaseLayer::new(&config.url),
            gzip: GzipLayer::new(config.compresses() && !has_connector),
            answer: AnswerLayer::new(&config.deadlines),
            pool: Pool::new(Arc::new(dialer), config.deadlines.connect),
        };
        let blueprint = Blueprint::Steps {
            steps: Box::new(steps),
            put_together: self.stack,
            layers: self.layers,
        };
        Ok(Client {
            inner: Arc::new(ClientInner {
                guards: Arc::default(),
                stack: blueprint.stack(),
                blueprint,
                default_namespace: config.default_namespace,
                server: config.url.to_string(),
                agreed: Agreed::new(self.encoding).into(),
                reachability: Arc::default(),
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
    metrics: Option<ExecMetrics>,
) -> Result<Authenticator, ConfigError> {
    let has_some = !matches!(config.credentials, Credentials::None);
    let secure = config.url.scheme() == Some(&Scheme::HTTPS) || has_connector;
    if has_some && !secure {
        tracing::warn!("{} is not https: the credentials are not sent", config.url);
        return Ok(Authenticator::default());
    }
    Authenticator::new(config, tls, metrics)
}
