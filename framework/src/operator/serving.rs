use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::OperatorError;
use crate::{metrics::Metrics, server::Tls};

/// How metrics and health are served. The default is HTTP for everyone.
///
/// ```no_run
/// # use pilothouse::operator::{Operator, Serving};
/// let serving = Serving::https("/certs/tls.crt", "/certs/tls.key").authorized();
/// let operator = Operator::new("website").serving(serving);
/// # drop(operator);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Serving {
    certificate: Certificate,
    authorized: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Certificate {
    #[default]
    None,
    Files {
        certificate: PathBuf,
        key: PathBuf,
    },
    SelfSigned,
}

/// The host names of a self-signed certificate, as in kubebuilder.
#[cfg(feature = "self-signed")]
const SELF: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Serving {
    /// Serves over HTTP.
    pub fn http() -> Self {
        Self::default()
    }

    /// Serves over HTTPS with the certificate and key of these PEM files. A change of the files is noticed within 10 s.
    pub fn https(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            certificate: Certificate::Files {
                certificate: certificate.into(),
                key: key.into(),
            },
            authorized: false,
        }
    }

    /// Serves over HTTPS with a self-signed certificate, which clients cannot verify. It needs the feature `self-signed`:
    /// without it the operator does not start.
    pub fn self_signed() -> Self {
        Self {
            certificate: Certificate::SelfSigned,
            authorized: false,
        }
    }

    /// Serves metrics only to users that the API server authenticates by bearer token and allows to read them; see
    /// [`Reviewer`](crate::server::Reviewer). Health stays open to everyone.
    pub fn authorized(mut self) -> Self {
        self.authorized = true;
        self
    }

    pub(super) fn authorized_if(self, authorized: bool) -> Self {
        Self { authorized, ..self }
    }

    /// Whether this is HTTPS.
    pub(super) fn is_secure(&self) -> bool {
        self.certificate != Certificate::None
    }

    /// Whether nobody can verify the certificate.
    pub(super) fn is_self_signed(&self) -> bool {
        self.certificate == Certificate::SelfSigned
    }

    /// The files of the certificate and its key, if they are given.
    pub(super) fn files(&self) -> Option<(&Path, &Path)> {
        match &self.certificate {
            Certificate::Files { certificate, key } => Some((certificate, key)),
            _ => None,
        }
    }

    /// The folder of the certificate and its key, if they are files in one folder.
    pub(super) fn certificate_folder(&self) -> Option<&Path> {
        let (certificate, key) = self.files()?;
        let folder = certificate.parent();
        folder.filter(|folder| key.parent() == Some(*folder))
    }

    pub(super) fn is_authorized(&self) -> bool {
        self.authorized
    }

    /// The TLS settings, if this is HTTPS.
    pub(super) async fn tls(&self, metrics: &Metrics) -> Result<Option<Tls>, OperatorError> {
        let tls = match &self.certificate {
            Certificate::None => return Ok(None),
            Certificate::Files { certificate, key } => {
                Tls::from_files(certificate, key, metrics).await?
            }
            #[cfg(feature = "self-signed")]
            Certificate::SelfSigned => Tls::self_signed(SELF)?,
            #[cfg(not(feature = "self-signed"))]
            Certificate::SelfSigned => return Err(OperatorError::NoSelfSigned),
        };
        Ok(Some(tls))
    }
}

impl fmt::Display for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_secure() { "https" } else { "http" })
    }
}
