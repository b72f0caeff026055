use std::{
    fmt,
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};

use super::ConfigError;

/// The trusted authorities, and the client's certificate.
#[derive(Clone, Default)]
pub(crate) struct TlsConfig {
    /// The only trusted authorities. If `None`, those of the system are trusted.
    pub(crate) roots: Option<Roots>,
    /// The client's certificate chain and its key.
    pub(crate) identity: Option<Identity>,
    /// The name that the server's certificate must be valid for, if it is not the host.
    pub(crate) server_name: Option<String>,
    /// Whether any certificate is accepted.
    pub(crate) insecure: bool,
}

/// Certificates as PEM, and where they come from.
#[derive(Clone)]
pub(crate) struct Pem {
    pub(crate) text: Vec<u8>,
    pub(crate) origin: String,
}

/// Certificate authorities.
#[derive(Clone)]
pub(crate) struct Roots {
    pub(crate) pem: Pem,
    /// The file to read again; `None` if they are not from a file.
    pub(crate) file: Option<PathBuf>,
}

impl Roots {
    pub(crate) fn given(text: Vec<u8>, origin: impl Into<String>) -> Self {
        Self {
            pem: Pem {
                text,
                origin: origin.into(),
            },
            file: None,
        }
    }

    /// Reads the authorities in the file at `path`.
    pub(crate) async fn read(path: PathBuf) -> Result<Self, ConfigError> {
        let origin = path.display().to_string();
        Self {
            file: Some(path),
            ..Self::given(Vec::new(), origin)
        }
        .read_again()
        .await
    }

    /// The authorities that the file holds now. The same ones if they are not from a file.
    pub(crate) async fn read_again(mut self) -> Result<Self, ConfigError> {
        if let Some(path) = &self.file {
            self.pem.text = read(path, "the certificate authority", &self.pem.origin).await?;
        }
        Ok(self)
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.pem.text == other.pem.text
    }
}

/// A client certificate chain and its key, both as PEM.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: Pem,
    pub(crate) key: SecretString,
    pub(crate) key_origin: String,
    /// The file to read again; `None` if the certificates are not from a file.
    pub(crate) certificate_file: Option<PathBuf>,
    /// The same for the key.
    pub(crate) key_file: Option<PathBuf>,
}

impl Identity {
    /// Reads a chain and a key from two files.
    pub(crate) async fn read(certificate: PathBuf, key: PathBuf) -> Result<Self, ConfigError> {
        Self {
            certificate: Pem {
                text: Vec::new(),
                origin: certificate.display().to_string(),
            },
            key: SecretString::default(),
            key_origin: key.display().to_string(),
            certificate_file: Some(certificate),
            key_file: Some(key),
        }
        .read_again()
        .await
    }

    pub(crate) fn is_in_files(&self) -> bool {
        self.certificate_file.is_some() || self.key_file.is_some()
    }

    /// The identity that the files hold now.
    pub(crate) async fn read_again(&self) -> Result<Self, ConfigError> {
        let mut now = self.clone();
        if let Some(path) = &self.certificate_file {
            now.certificate.text =
                read(path, "the client certificate", &self.certificate.origin).await?;
        }
        if let Some(path) = &self.key_file {
            let text = read(path, "the client key", &self.key_origin).await?;
            let text = String::from_utf8(text).map_err(|_| {
                ConfigError::new(format!("the client key ({}) is not PEM", self.key_origin))
            })?;
            now.key = SecretString::from(text);
        }
        Ok(now)
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.certificate.text == other.certificate.text
            && self.key.expose_secret() == other.key.expose_secret()
    }
}

async fn read(path: &Path, what: &str, origin: &str) -> Result<Vec<u8>, ConfigError> {
    tokio::fs::read(path).await.map_err(|error| {
        ConfigError::new(format!(
            "{what} ({origin}) cannot be read: {}",
            error.kind()
        ))
    })
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConfig")
            .field("roots", &self.roots.as_ref().map(|roots| &roots.pem.origin))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_renewed_certificate_for_the_same_key_is_another_identity() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("crt"), folder.path().join("key"));
        std::fs::write(&certificate, "old").unwrap();
        std::fs::write(&key, "the key").unwrap();
        let old = Identity::read(certificate.clone(), key).await.unwrap();
        std::fs::write(&certificate, "renewed").unwrap();
        let renewed = old.read_again().await.unwrap();
        assert!(!renewed.is_same_as(&old));
    }
}
