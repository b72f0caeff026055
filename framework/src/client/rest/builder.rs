use std::sync::Arc;

use http::{Request, Response, uri::Scheme};
use tower::{Layer, Service};

use super::{
    client::{Client, ClientInner},
    stack_factory::{AddLayer, BuildStack, StackFactory},
};
use crate::{
    client::{
        Body, BoxError, Config, ConfigError, Connector, Credentials, Encoding, Error,
        RequestService,
        codec::NegotiatedEncodings,
        config::RateLimit,
        decode::Decoder,
        stack::{
            AuthLayer, Authenticator, BackPressureLayer, BaseLayer, CountLayer, FenceLayer,
            GzipLayer, ImpersonateLayer, MeasureLayer, RateLimitLayer, ResponseDeadlineLayer,
            RetryLayer, Steps, TotalLayer, TraceLayer, UserAgentLayer, WarningsLayer, service,
        },
        transport::{CurrentTls, Dialer, Pool},
    },
    clock::Clock,
    metrics::{ExecMetrics, Metrics},
};

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
    encoding_of_other_kinds: Encoding,
    stack: Option<BuildStack>,
    layers: Vec<AddLayer>,
}

impl ClientBuilder {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            user_agent: None,
            metrics: None,
            connector: None,
            warnings: WarningsLayer::default(),
            encoding: Encoding::default(),
            encoding_of_other_kinds: Encoding::Json,
            stack: None,
            layers: Vec::new(),
        }
    }

    /// Counts requests in `metrics`. By default nothing is counted.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Sends `user_agent`, such as `website/1.2.0`, in front of the names of the system and the framework. The default
    /// is the name of the binary.
    #[must_use]
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = Some(user_agent.into());
        self
    }

    /// Writes and requests objects in `encoding` if the server accepts it, and in JSON otherwise. The default is
    /// [`Encoding::Protobuf`]. Some encodings have only a part of the kinds, or no form for what the client writes: see
    /// [`Encoding`].
    ///
    /// ```
    /// # use pilothouse::client::{Client, Config, Encoding};
    /// # let config = Config::new("https://host:6443".parse().unwrap());
    /// // So that a proxy can log what comes.
    /// let builder = Client::builder(config).encoding(Encoding::Json);
    /// ```
    #[must_use]
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// The encoding of the kinds that [`encoding`](Self::encoding) does not have, such as custom resources with protobuf. The default is
    /// [`Encoding::Json`]. If a server refuses one of the two encodings for a group of kinds, the whole group gets JSON.
    ///
    /// ```
    /// # use pilothouse::client::{Client, Config, Encoding};
    /// # let config = Config::new("https://host:6443".parse().unwrap());
    /// # #[cfg(feature = "cbor")] {
    /// // Protobuf for the built-in kinds, and CBOR for all others.
    /// let builder = Client::builder(config).encoding_of_other_kinds(Encoding::Cbor);
    /// # }
    /// ```
    #[must_use]
    pub fn encoding_of_other_kinds(mut self, encoding: Encoding) -> Self {
        self.encoding_of_other_kinds = encoding;
        self
    }

    /// Connects to the server with `connector` instead of TCP and TLS.
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

    /// Calls `handler` once with each different warning of the server, such as that a version will be removed. By
    /// default the client logs warnings. `handler` must not block.
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

    /// Builds the stack in another way than [`Steps::request`]; see [`stack`](crate::client::stack).
    #[must_use]
    pub fn stack<S, B>(mut self, build_stack: impl Fn(Steps) -> S + Send + Sync + 'static) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.stack = Some(Arc::new(move |steps| service(build_stack(steps))));
        self
    }

    /// Puts `layer` around the whole stack. It sees each request once, even if the client sends it several times. The
    /// layer that was added last is the outermost.
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

    /// Builds the client.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::client::ErrorKind::Config) if a certificate, a key, the user agent or a limit is not valid.
    pub fn build(self) -> Result<Client, Error> {
        let config = self.config;
        let hint_on_401 = Some(config.hint_on_401().into());
        let has_connector = self.connector.is_some();
        let metrics = self.metrics.map(|metrics| metrics.client());
        let dialer = Dialer::new(&config, self.connector, metrics.clone())?;
        let exec = metrics.as_ref().map(|metrics| metrics.exec.clone());
        let authenticator = authenticator(&config, has_connector, dialer.tls(), exec)?;
        let host = config.url.authority().map_or("", |host| host.as_str());
        let count = CountLayer::new(metrics.clone(), host);
        if let Some(metrics) = &metrics {
            metrics.begin(host);
        }
        let rate_limit = config.rate_limit;
        let rate_limit = rate_limit.map(|(per_second, burst)| RateLimit::new(per_second, burst));
        let rate_limit = rate_limit.transpose()?;
        let steps = Steps {
            total: TotalLayer::new(config.deadlines.total),
            trace: TraceLayer::new(&config.url),
            measure: MeasureLayer::new(metrics.clone(), host),
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
            response_deadline: ResponseDeadlineLayer::new(&config.deadlines),
            pool: Pool::new(Arc::new(dialer), config.deadlines.connect, metrics),
        };
        let stack_factory = StackFactory::Steps {
            steps: Box::new(steps),
            build_stack: self.stack,
            layers: self.layers,
        };
        Ok(Client {
            inner: Arc::new(ClientInner {
                guards: Arc::default(),
                stack: stack_factory.stack(),
                stack_factory,
                default_namespace: config.default_namespace,
                server: config.url.to_string(),
                encodings: NegotiatedEncodings::new(self.encoding, self.encoding_of_other_kinds)
                    .into(),
                reachability: Arc::default(),
                hint_on_401,
                all_namespaces: false,
                clock: Clock::default(),
            }),
            decoder: Decoder::default(),
            on_objects: None,
        })
    }
}

/// Credentials are sent only over TLS, as with kubectl, or over the program's own connector.
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
        return Ok(Authenticator::without_credentials(config));
    }
    Authenticator::new(config, tls, metrics)
}
