use std::{
    io,
    path::{Path, PathBuf},
};

use super::{WebhookError, bundle::Bundle};
use crate::{
    metrics::{CertificateMetrics, Metrics},
    server::{CertificateFiles, PemPair, ServedCertificate},
};

/// The number of attempts to read files that are replaced meanwhile.
const ATTEMPTS: usize = 3;

/// A folder with `tls.crt`, `tls.key` and perhaps `ca.crt`.
pub(super) struct Folder {
    files: CertificateFiles,
    authorities: PathBuf,
    metrics: CertificateMetrics,
}

/// What the files hold.
pub(super) struct FolderContent {
    /// The content of `tls.crt` and `tls.key`.
    pub(super) pems: PemPair,
    pub(super) certificate: ServedCertificate,
    /// The authorities in `ca.crt`. `None` without the file: then somebody else writes them into the configurations, or the API
    /// server knows the authority anyway.
    pub(super) authorities: Option<Bundle>,
}

impl Folder {
    pub(super) fn new(folder: &Path, metrics: &Metrics) -> Self {
        Self {
            files: CertificateFiles {
                certificate: folder.join("tls.crt"),
                key: folder.join("tls.key"),
            },
            authorities: folder.join("ca.crt"),
            metrics: metrics.certificate(),
        }
    }

    /// Reads all files.
    pub(super) async fn read(&self) -> Result<FolderContent, WebhookError> {
        self.metrics.reads.inc();
        let read = self.read_together().await;
        read.inspect_err(|_| self.metrics.errors.inc())
    }

    /// Kubernetes replaces the files of a Secret together. If the authorities have changed while the pair was read, all are read
    /// again.
    async fn read_together(&self) -> Result<FolderContent, WebhookError> {
        let mut authorities = self.read_authorities().await?;
        for _ in 1..ATTEMPTS {
            let pems = self.files.read().await?;
            let again = self.read_authorities().await?;
            if again == authorities {
                return self.content(pems, authorities);
            }
            authorities = again;
        }
        self.content(self.files.read().await?, authorities)
    }

    fn content(
        &self,
        pems: PemPair,
        authorities: Option<Bundle>,
    ) -> Result<FolderContent, WebhookError> {
        let certificate = self.files.parse(&pems)?;
        Ok(FolderContent {
            pems,
            certificate,
            authorities,
        })
    }

    async fn read_authorities(&self) -> Result<Option<Bundle>, WebhookError> {
        let path = || self.authorities.clone();
        match tokio::fs::read(&self.authorities).await {
            Ok(pem) => match Bundle::parse(&pem) {
                Some(bundle) => Ok(Some(bundle)),
                None => Err(WebhookError::NoAuthority { path: path() }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(WebhookError::Bundle {
                path: path(),
                source,
            }),
        }
    }
}
