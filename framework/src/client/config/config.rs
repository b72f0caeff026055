use std::path::PathBuf;

use http::Uri;
use secrecy::SecretString;

use super::{
    ConfigError, Credentials, Deadlines, ExecPolicy, Impersonation, Proxy,
    tls::{Identity, Pem, Roots, TlsConfig},
};

/// How an API server is reached: its address, whom to trust, and who the client is.
///
/// `Debug` shows no secret.
///
/// # Whom to trust
/// Certificate authorities that are named, by `certificate-authority` or `certificate-authority-data`
/// of the cluster or by [`with_certificate_authority`](Self::with_certificate_authority), are the only
/// ones that count. The system's (`SSL_CERT_FILE` and `SSL_CERT_DIR`, or what the operating system
/// has) count when none is named. A file of authorities is read again as it changes.
///
/// # Proxies
/// A cluster's `proxy-url` counts always. Where there is none, configurations that are loaded follow
/// the environment as kubectl does: `HTTPS_PROXY` for servers with TLS, `HTTP_PROXY` for those
/// without, and of them all but what `NO_PROXY` names: `*`, addresses and ranges (`10.0.0.1`,
/// `10.0.0.0/8`, `fd00::/8`), names with all below them (`example.com`) or only those
/// (`.example.com`), each but a range with a port if it is to count for that only. `localhost` and
/// loopback addresses are reached directly. The lower-case forms of the variables count where the
/// others are not set. See [`Proxy`] for the kinds of proxies.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), pilothouse::client::ConfigError> {
/// use pilothouse::client::Config;
///
/// let kubeconfig = "
/// current-context: production
/// contexts:
/// - name: production
///   context: {cluster: production}
/// clusters:
/// - name: production
///   cluster:
///     server: https://10.0.0.1:6443
///     certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t
///     tls-server-name: api.production.example
///     proxy-url: socks5://bastion.example:1080
/// ";
/// let config = Config::from_yaml(kubeconfig).await?;
/// assert_eq!(config.proxy().unwrap().to_string(), "socks5://bastion.example:1080");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) url: Uri,
    pub(crate) default_namespace: String,
    pub(crate) credentials: Credentials,
    /// The token that counts while that in the file cannot be read.
    pub(crate) first_token: Option<SecretString>,
    pub(crate) exec_policy: ExecPolicy,
    pub(crate) impersonation: Option<Impersonation>,
    pub(crate) tls: TlsConfig,
    pub(crate) proxy: Option<Proxy>,
    /// Where the credentials come from, for messages.
    pub(crate) credentials_origin: String,
    pub(crate) deadlines: Deadlines,
    /// Nothing was said about it otherwise.
    pub(crate) compression: Option<bool>,
    /// Per second, and in a burst.
    pub(crate) rate_limit: Option<(f64, u32)>,
}

impl Config {
    /// The server at `url`, without credentials, trusting the system's authorities, reached without
    /// a proxy whatever the environment says.
    ///
    /// [`infer`](Self::infer) and its neighbours load everything instead.
    ///
    /// ```
    /// use pilothouse::client::Config;
    ///
    /// let config = Config::new("https://host:6443".parse().unwrap())
    ///     .with_certificate_authority(std::fs::read("ca.crt").unwrap_or_default())
    ///     .with_token("from somewhere safe")
    ///     .with_default_namespace("team");
    /// assert!(!format!("{config:?}").contains("safe"));
    /// ```
    pub fn new(url: Uri) -> Self {
        Self {
            url,
            default_namespace: "default".to_owned(),
            credentials: Credentials::None,
            first_token: None,
            exec_policy: ExecPolicy::default(),
            impersonation: None,
            tls: TlsConfig::default(),
            proxy: None,
            credentials_origin: "given by the program".to_owned(),
            deadlines: Deadlines::default(),
            compression: None,
            rate_limit: None,
        }
    }

    /// The server's address.
    pub fn url(&self) -> &Uri {
        &self.url
    }

    /// The namespace to use where none is named.
    pub fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    /// Use `namespace` where none is named.
    #[must_use]
    pub fn with_default_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.default_namespace = namespace.into();
        self
    }

    /// Say who the client is by `credentials`.
    ///
    /// ```
    /// use pilothouse::client::{Config, Credentials};
    ///
    /// # fn password() -> String { String::new() }
    /// let basic = Credentials::Basic {
    ///     username: "me".into(),
    ///     password: password().into(),
    /// };
    /// let config = Config::new("https://host:6443".parse().unwrap()).with_credentials(basic);
    /// ```
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// Say who the client is by a bearer token.
    #[must_use]
    pub fn with_token(self, token: impl Into<String>) -> Self {
        self.with_credentials(Credentials::Token(SecretString::from(token.into())))
    }

    /// Say who the client is by the bearer token in a file, which is read again every 50 s and when the
    /// server refuses it. White space around the token does not count.
    ///
    /// ```
    /// # use pilothouse::client::Config;
    /// let config = Config::new("https://host:6443".parse().unwrap())
    ///     .with_token_file("/var/run/secrets/tokens/vault");
    /// ```
    #[must_use]
    pub fn with_token_file(self, path: impl Into<PathBuf>) -> Self {
        self.with_credentials(Credentials::TokenFile(path.into()))
    }

    /// Say who the client is by a certificate chain and its key, both as PEM.
    ///
    /// ```no_run
    /// # use pilothouse::client::Config;
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = Config::new("https://10.0.0.1:6443".parse()?)
    ///     .with_client_certificate(std::fs::read("tls.crt")?, std::fs::read_to_string("tls.key")?);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<String>,
    ) -> Self {
        self.tls.identity = Some(Identity {
            certificate: Pem {
                text: certificate.into(),
                origin: "given by the program".to_owned(),
            },
            key: SecretString::from(key.into()),
            key_origin: "given by the program".to_owned(),
            certificate_file: None,
            key_file: None,
        });
        self
    }

    /// Say who the client is by a certificate chain and its key in two PEM files, read again as
    /// they are renewed: new connections show the new certificate, and those that showed the old
    /// one end with the requests on them.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Config, ConfigError};
    /// # async fn example() -> Result<(), ConfigError> {
    /// let config = Config::new("https://host:6443".parse().unwrap())
    ///     .with_client_certificate_files("tls.crt", "tls.key")
    ///     .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When a file cannot be read.
    pub async fn with_client_certificate_files(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, ConfigError> {
        self.tls.identity = Some(Identity::read(certificate.into(), key.into()).await?);
        Ok(self)
    }

    /// Run only credential plugins that `policy` allows; default [`ExecPolicy::AllowAll`].
    #[must_use]
    pub fn with_exec_policy(mut self, policy: ExecPolicy) -> Self {
        self.exec_policy = policy;
        self
    }

    /// Act as somebody else; the client's own identity has to be allowed to.
    #[must_use]
    pub fn with_impersonation(mut self, impersonation: Impersonation) -> Self {
        self.impersonation = Some(impersonation);
        self
    }

    /// Trust only these authorities, given as PEM.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Client, Config};
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = Config::new("https://10.0.0.1:6443".parse()?)
    ///     .with_certificate_authority(std::fs::read("ca.crt")?)
    ///     .with_server_name("api.production.example");
    /// let client = Client::new(config)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_certificate_authority(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.roots = Some(Roots::given(pem.into(), "given by the program"));
        self
    }

    /// Trust only the authorities in a PEM file, read again as they change: new connections count on
    /// the new ones, and those made before end with the requests on them. A file that does not do
    /// leaves the authorities read before, with one warning.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Client, Config};
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = Config::new("https://10.0.0.1:6443".parse()?)
    ///     .with_certificate_authority_file("/etc/kubernetes/pki/ca.crt")
    ///     .await?;
    /// let client = Client::new(config)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn with_certificate_authority_file(
        mut self,
        path: impl Into<PathBuf>,
    ) -> Result<Self, ConfigError> {
        self.tls.roots = Some(Roots::read(path.into()).await?);
        Ok(self)
    }

    /// Take any certificate of the server: for trying out only, since anyone on the way can read and
    /// change everything. A client warns about it once; together with an authority it is an error when
    /// the client is built.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Client, Config};
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = Config::new("https://127.0.0.1:6443".parse()?).with_insecure_skip_tls_verify();
    /// let client = Client::new(config)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_insecure_skip_tls_verify(mut self) -> Self {
        self.tls.insecure = true;
        self
    }

    /// Reach the server through `proxy`, whatever the environment says.
    #[must_use]
    pub fn with_proxy(mut self, proxy: Proxy) -> Self {
        self.proxy = Some(proxy);
        self
    }

    /// Reach the server directly, whatever the kubeconfig or the environment said.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Config, ConfigError};
    /// # async fn example() -> Result<(), ConfigError> {
    /// let config = Config::infer().await?.without_proxy();
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn without_proxy(mut self) -> Self {
        self.proxy = None;
        self
    }

    /// The proxy through which the server is reached.
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Expect the server's certificate to be for `name` instead of the host's.
    #[must_use]
    pub fn with_server_name(mut self, name: impl Into<String>) -> Self {
        self.tls.server_name = Some(name.into());
        self
    }

    /// Give up after these times instead of the default ones.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Whether to ask for compressed answers (gzip).
    ///
    /// The default is to ask, as client-go and kubectl do, but not a server in the same cluster or on
    /// this machine, and none whose kubeconfig says `disable-compression`: where bytes are cheap,
    /// packing and unpacking a long list takes longer than sending it.
    ///
    /// ```
    /// # use pilothouse::client::Config;
    /// let config = Config::new("https://10.0.0.1:6443".parse().unwrap()).with_compression(false);
    /// ```
    #[must_use]
    pub fn with_compression(mut self, compression: bool) -> Self {
        self.compression = Some(compression);
        self
    }

    pub(crate) fn compresses(&self) -> bool {
        let host = self.url.host().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse();
        let is_here = match address {
            Ok(address) => std::net::IpAddr::is_loopback(&address),
            Err(_) => host == "localhost",
        };
        self.compression.unwrap_or(!is_here)
    }

    /// Send no more than `per_second` requests, and at most `burst` at once; the default is no
    /// limit, because API servers have priority and fairness and the client
    /// [waits when they say so](crate::client::stack::BackPressureLayer). Clones of a client share the
    /// limit; opening watches does not count. Numbers that are not above 0, or that make a request wait
    /// for more than a day, are an error of [`Client::new`](crate::client::Client::new).
    ///
    /// ```
    /// # use pilothouse::client::Config;
    /// let config = Config::new("https://10.0.0.1:6443".parse().unwrap()).with_rate_limit(20.0, 30);
    /// ```
    #[must_use]
    pub fn with_rate_limit(mut self, per_second: f64, burst: u32) -> Self {
        self.rate_limit = Some((per_second, burst));
        self
    }

    /// What to do when the server does not know who the client is.
    pub(crate) fn advice_on_401(&self) -> String {
        let origin = &self.credentials_origin;
        match (&self.credentials, &self.tls.identity) {
            (Credentials::Token(_), _) => {
                format!("the token ({origin}) is expired or not one of this server's: renew it")
            }
            (Credentials::TokenFile(path), _) => format!(
                "the token in {} ({origin}) is expired or not one of this server's: renew it",
                path.display()
            ),
            (Credentials::Basic { .. }, _) => {
                format!("user name or password ({origin}) are not this server's: check them")
            }
            (Credentials::Exec(plugin), _) => format!(
                "the credentials that the plugin {} printed ({origin}) are expired or not for this server: run it by hand, or log in with it again",
                plugin.command.display()
            ),
            (Credentials::None, Some(identity)) => format!(
                "the client certificate ({}) is expired or not one of this server's: renew it",
                identity.certificate.origin
            ),
            (Credentials::None, None) => format!("there are no credentials ({origin}): add some"),
        }
    }
}
