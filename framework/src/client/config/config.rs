use std::path::PathBuf;

use http::Uri;
use secrecy::SecretString;

use super::{
    ConfigError, Credentials, Deadlines, ExecPolicy, Impersonation, Proxy,
    tls::{Identity, Pem, Roots, TlsConfig},
};

/// How to reach an API server: its address, the trusted authorities, and the client's credentials.
///
/// `Debug` shows no secret.
///
/// # Trusted authorities
/// If the configuration names certificate authorities, the client trusts only those. They come from
/// `certificate-authority` or `certificate-authority-data` of the cluster, or from
/// [`with_certificate_authority`](Self::with_certificate_authority). If it names none, the client trusts those of the
/// system: `SSL_CERT_FILE` and `SSL_CERT_DIR`, or the operating system's store. A file of authorities is read again
/// when it changes.
///
/// # Proxies
/// The `proxy-url` of a cluster is always used. Without one, a loaded configuration follows the environment as kubectl
/// does: `HTTPS_PROXY` for servers with TLS, and `HTTP_PROXY` for those without. `NO_PROXY` lists servers that are
/// reached directly: `*`, addresses and ranges (`10.0.0.1`, `10.0.0.0/8`, `fd00::/8`), names with all names below them
/// (`example.com`) or only those below (`.example.com`). Each entry except a range may have a port, and then applies to
/// that port only. `localhost` and loopback addresses are always reached directly. If a variable is not set, its
/// lower-case form is used. See [`Proxy`] for the kinds of proxies.
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
    /// The token to use while the token file cannot be read.
    pub(crate) first_token: Option<SecretString>,
    pub(crate) exec_policy: ExecPolicy,
    pub(crate) impersonation: Option<Impersonation>,
    pub(crate) tls: TlsConfig,
    pub(crate) proxy: Option<Proxy>,
    /// Where the credentials come from, for messages.
    pub(crate) credentials_origin: String,
    /// The context of the kubeconfig, for messages.
    pub(crate) context: Option<String>,
    pub(crate) deadlines: Deadlines,
    /// `None` if the user did not choose.
    pub(crate) compression: Option<bool>,
    /// Requests per second, and requests in a burst.
    pub(crate) rate_limit: Option<(f64, u32)>,
}

impl Config {
    /// A configuration for the server at `url`: no credentials, the system's authorities, and no proxy, whatever the
    /// environment says.
    ///
    /// To load a configuration, use [`infer`](Self::infer) or a function beside it.
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
            context: None,
            compression: None,
            rate_limit: None,
        }
    }

    /// The server's address.
    pub fn url(&self) -> &Uri {
        &self.url
    }

    /// The namespace for requests that name none.
    pub fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    /// Uses `namespace` for requests that name none.
    #[must_use]
    pub fn with_default_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.default_namespace = namespace.into();
        self
    }

    /// Authenticates with `credentials`.
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

    /// Authenticates with a bearer token.
    #[must_use]
    pub fn with_token(self, token: impl Into<String>) -> Self {
        self.with_credentials(Credentials::Token(SecretString::from(token.into())))
    }

    /// Authenticates with the bearer token in a file. The client reads the file every 50 s, and when the server refuses
    /// the token. It ignores white space around the token.
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

    /// Authenticates with a certificate chain and its key, both as PEM.
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

    /// Authenticates with a certificate chain and its key in two PEM files, which are read again when they change. New
    /// connections present the new certificate. Connections with the old one end after their requests.
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
    /// A file cannot be read.
    pub async fn with_client_certificate_files(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, ConfigError> {
        self.tls.identity = Some(Identity::read(certificate.into(), key.into()).await?);
        Ok(self)
    }

    /// Runs only the credential plugins that `policy` allows. The default is [`ExecPolicy::AllowAll`].
    #[must_use]
    pub fn with_exec_policy(mut self, policy: ExecPolicy) -> Self {
        self.exec_policy = policy;
        self
    }

    /// Sends requests as another user. The client's own identity must be allowed to impersonate that user.
    #[must_use]
    pub fn with_impersonation(mut self, impersonation: Impersonation) -> Self {
        self.impersonation = Some(impersonation);
        self
    }

    /// Trusts only these authorities, given as PEM.
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

    /// Trusts only the authorities in a PEM file, which is read again when it changes. New connections use the new
    /// authorities. Earlier connections end after their requests. If the file becomes invalid, the client keeps the
    /// authorities that it read before, and warns once.
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
    /// The file cannot be read.
    pub async fn with_certificate_authority_file(
        mut self,
        path: impl Into<PathBuf>,
    ) -> Result<Self, ConfigError> {
        self.tls.roots = Some(Roots::read(path.into()).await?);
        Ok(self)
    }

    /// Accepts any certificate of the server. For experiments only, because anyone on the way can read and change
    /// everything. A client warns about it once. Together with an authority, this is an error when the client is built.
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

    /// Connects through `proxy`, whatever the environment says.
    #[must_use]
    pub fn with_proxy(mut self, proxy: Proxy) -> Self {
        self.proxy = Some(proxy);
        self
    }

    /// Connects directly, whatever the kubeconfig or the environment says.
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

    /// The proxy on the way to the server.
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Expects the server's certificate to be valid for `name` instead of the host.
    #[must_use]
    pub fn with_server_name(mut self, name: impl Into<String>) -> Self {
        self.tls.server_name = Some(name.into());
        self
    }

    /// Replaces the default deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Whether to request compressed answers (gzip).
    ///
    /// By default the client requests them, as client-go and kubectl do. Exceptions are servers in the same cluster or
    /// on this machine, and clusters with `disable-compression` in the kubeconfig. Where bytes are cheap, it takes
    /// longer to compress and decompress a long list than to send it.
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

    /// Sends at most `per_second` requests per second, and at most `burst` at once. The default is no limit, because
    /// API servers have priority and fairness, and the client
    /// [waits when they ask](crate::client::stack::BackPressureLayer). Clones of a client share the limit. Opening a
    /// watch does not count. If a number is not above 0, or makes a request wait for more than a day,
    /// [`Client::new`](crate::client::Client::new) returns an error.
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

    /// What the user can do if the server does not know the identity of the client.
    pub(crate) fn hint_on_401(&self) -> String {
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
