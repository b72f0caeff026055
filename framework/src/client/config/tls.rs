use std::fmt;

use secrecy::SecretString;

/// Whom the client trusts, and the certificate by which it says who it is.
#[derive(Clone, Default)]
pub(crate) struct TlsConfig {
    /// The only authorities that count, as PEM; the system's when there are none.
    pub(crate) roots: Option<Pem>,
    /// The client's certificate chain and its key.
    pub(crate) identity: Option<Identity>,
    /// The name that the server's certificate must be for, when it is not the host's.
    pub(crate) server_name: Option<String>,
    /// Take any certificate.
    pub(crate) insecure: bool,
}

/// Certificates as PEM, and where they come from.
#[derive(Clone)]
pub(crate) struct Pem {
    pub(crate) text: Vec<u8>,
    pub(crate) origin: String,
}

/// A client certificate chain and its key, both as PEM.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: Pem,
    pub(crate) key: SecretString,
    pub(crate) key_origin: String,
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConfig")
            .field("roots", &self.roots.as_ref().map(|pem| &pem.origin))
            .field(
                "identity",
                &self
                    .identity
                    .as_ref()
                    .map(|identity| &identity.certificate.origin),
            )
            .field("server_name", &self.server_name)
            .field("insecure", &self.insecure)
            .finish()
    }
}
