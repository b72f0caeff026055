use std::{path::PathBuf, time::Duration};

use http::Uri;
use secrecy::SecretString;

use super::{
    ConfigError, Credentials, Impersonation,
    tls::{Identity, Pem, TlsConfig},
};

/// How an API server is reached: its address, whom to trust, and who the client is.
///
/// `Debug` shows no secret.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) url: Uri,
    pub(crate) default_namespace: String,
    pub(crate) credentials: Credentials,
    pub(crate) impersonation: Option<Impersonation>,
    pub(crate) tls: TlsConfig,
    /// Where the credentials come from, for messages.
    pub(crate) credentials_origin: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) answer_timeout: Duration,
    pub(crate) total_timeout: Duration,
}

impl Config {
    /// The server at `url`, without credentials, trusting the system's authorities.
    pub fn new(url: Uri) -> Self {
        Self {
            url,
            default_namespace: "default".to_owned(),
            credentials: Credentials::None,
            impersonation: None,
            tls: TlsConfig::default(),
            credentials_origin: "given by the program".to_owned(),
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(65),
            total_timeout: Duration::from_secs(180),
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

    /// Say who the client is by the bearer token in a file, read again as it is renewed.
    #[must_use]
    pub fn with_token_file(self, path: impl Into<PathBuf>) -> Self {
        self.with_credentials(Credentials::TokenFile(path.into()))
    }

    /// Say who the client is by a certificate chain and its key, both as PEM.
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

    /// Act as somebody else; the client's own identity has to be allowed to.
    #[must_use]
    pub fn with_impersonation(mut self, impersonation: Impersonation) -> Self {
        self.impersonation = Some(impersonation);
        self
    }

    /// Trust only these authorities, given as PEM.
    #[must_use]
    pub fn with_certificate_authority(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.roots = Some(Pem {
            text: pem.into(),
            origin: "given by the program".to_owned(),
        });
        self
    }

    /// Expect the server's certificate to be for `name` instead of the host's.
    #[must_use]
    pub fn with_server_name(mut self, name: impl Into<String>) -> Self {
        self.tls.server_name = Some(name.into());
        self
    }

    /// Give up opening a connection after `timeout`, TLS included; default 10 s.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Give up waiting for the head of an answer after `timeout`; default 65 s, a little more than
    /// the API server's own limit.
    #[must_use]
    pub fn with_answer_timeout(mut self, timeout: Duration) -> Self {
        self.answer_timeout = timeout;
        self
    }

    /// Give up a request after `timeout`, repetitions and the answer's body included; default
    /// 180 s. A watch has to answer within it and may last for ever.
    #[must_use]
    pub fn with_total_timeout(mut self, timeout: Duration) -> Self {
        self.total_timeout = timeout;
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
