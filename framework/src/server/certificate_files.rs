use std::path::{Path, PathBuf};

use rustls::{crypto::ring, sign::CertifiedKey};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretSlice};

use super::TlsError;

/// How often a pair is read that is being replaced meanwhile.
const ATTEMPTS: usize = 3;

/// A certificate, its intermediates after it, and its private key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CertificateFiles {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// What stands in the files.
pub(super) struct Pems {
    certificate: Vec<u8>,
    key: SecretSlice<u8>,
}

impl PartialEq for Pems {
    fn eq(&self, other: &Self) -> bool {
        self.certificate == other.certificate
            && self.key.expose_secret() == other.key.expose_secret()
    }
}

impl CertificateFiles {
    /// Reads both. Kubernetes replaces a Secret's files by moving one link: a pair whose first half is another one
    /// after the second was read is read again.
    pub(super) async fn read(&self) -> Result<Pems, TlsError> {
        let mut certificate = read(&self.certificate).await?;
        for _ in 1..ATTEMPTS {
            let key = read(&self.key).await?.into();
            let again = read(&self.certificate).await?;
            if again == certificate {
                return Ok(Pems { certificate, key });
            }
            certificate = again;
        }
        let key = read(&self.key).await?.into();
        Ok(Pems { certificate, key })
    }

    /// What can be shown of it.
    pub(super) fn parse(&self, pems: &Pems) -> Result<CertifiedKey, TlsError> {
        let no_certificate = || TlsError::Content {
            path: self.certificate.clone(),
            what: "certificate",
            begins: "CERTIFICATE-----",
        };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pems.certificate).collect();
        let chain = chain.map_err(|_| no_certificate())?;
        if chain.is_empty() {
            return Err(no_certificate());
        }
        let key = PrivateKeyDer::from_pem_slice(pems.key.expose_secret()).map_err(|_| {
            TlsError::Content {
                path: self.key.clone(),
                what: "private key",
                begins: "PRIVATE KEY-----",
            }
        })?;
        CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|reason| {
            TlsError::Pair {
                certificate: self.certificate.clone(),
                key: self.key.clone(),
                reason,
            }
        })
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    tokio::fs::read(path)
        .await
        .map_err(|source| TlsError::Read {
            path: path.to_owned(),
            source,
        })
}
