use std::path::{Path, PathBuf};

use rustls::{crypto::ring, sign::CertifiedKey};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretSlice};

use super::TlsError;

/// The number of attempts to read a pair that is replaced during the read.
const ATTEMPTS: usize = 3;

/// PEM files with a certificate, followed by its intermediate certificates, and its private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CertificateFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// The content of the files.
pub(crate) struct PemPair {
    certificate: Vec<u8>,
    key: SecretSlice<u8>,
}

#[cfg(feature = "self-signed")]
impl PemPair {
    pub(super) fn new(certificate: Vec<u8>, key: SecretSlice<u8>) -> Self {
        Self { certificate, key }
    }
}

impl PartialEq for PemPair {
    fn eq(&self, other: &Self) -> bool {
        self.certificate == other.certificate
            && self.key.expose_secret() == other.key.expose_secret()
    }
}

impl CertificateFiles {
    /// Reads both files. Kubernetes replaces the files of a Secret by changing one link, so the two reads
    /// may see different pairs. If the certificate has changed after the key was read, both are read again.
    pub(crate) async fn read(&self) -> Result<PemPair, TlsError> {
        let mut certificate = read(&self.certificate).await?;
        for _ in 1..ATTEMPTS {
            let key = read(&self.key).await?.into();
            let again = read(&self.certificate).await?;
            if again == certificate {
                return Ok(PemPair { certificate, key });
            }
            certificate = again;
        }
        let key = read(&self.key).await?.into();
        Ok(PemPair { certificate, key })
    }

    /// Parses the certificate chain and its key.
    pub(crate) fn parse(&self, pems: &PemPair) -> Result<CertifiedKey, TlsError> {
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
