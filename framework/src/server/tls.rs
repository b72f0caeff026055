use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    crypto::ring,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "self-signed")]
use super::self_signed;
use super::{
    TlsError,
    certificate_files::{CertificateFiles, Pems},
};
use crate::metrics::CertificateMetrics;

/// How often the files are looked at.
const PERIOD: Duration = Duration::from_secs(10);

/// The certificate that a server shows, and TLS 1.2 and 1.3 with it; HTTP/2 and HTTP/1.1 by ALPN.
///
/// Files are looked at every 10 s, content and not time, and what is new is shown from the next handshake on.
/// A new pair that cannot be used is logged once, counted each time, and the old one stays.
pub struct Tls {
    shown: Arc<Shown>,
    config: Arc<ServerConfig>,
    source: Source,
}

/// Where the next certificate comes from.
enum Source {
    Files(WatchedFiles),
    #[cfg(feature = "self-signed")]
    Made(Vec<String>),
}

struct WatchedFiles {
    files: CertificateFiles,
    /// What is shown.
    pems: Pems,
    /// What was wrong with the files at the last look.
    problem: Option<String>,
    metrics: CertificateMetrics,
}

/// What the next handshake shows.
#[derive(Debug)]
struct Shown(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Tls {
    /// Shows the certificate of a PEM file, intermediates after it, whose private key is in another one.
    ///
    /// # Errors
    /// A file cannot be read, or the two cannot be used.
    pub async fn from_files(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
        metrics: CertificateMetrics,
    ) -> Result<Self, TlsError> {
        let files = CertificateFiles {
            certificate: certificate.into(),
            key: key.into(),
        };
        metrics.reads.inc();
        let read = async {
            let pems = files.read().await?;
            Ok((files.parse(&pems)?, pems))
        };
        let (certified, pems) = read.await.inspect_err(|_| metrics.errors.inc())?;
        let watched = WatchedFiles {
            files,
            pems,
            problem: None,
            metrics,
        };
        Self::new(certified, Source::Files(watched))
    }

    /// Shows a certificate made now for these host names and addresses, which nobody can verify: it keeps others from
    /// listening and nobody from pretending. It is valid for a year, replaced after half of it, and gone with the
    /// process.
    ///
    /// # Errors
    /// A name is none.
    #[cfg(feature = "self-signed")]
    pub fn self_signed(
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, TlsError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        Self::new(self_signed::make(&names)?, Source::Made(names))
    }

    fn new(certified: CertifiedKey, source: Source) -> Result<Self, TlsError> {
        let shown = Arc::new(Shown(ArcSwap::from_pointee(certified)));
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?;
        let mut config = builder
            .with_no_client_auth()
            .with_cert_resolver(shown.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            shown,
            config: Arc::new(config),
            source,
        })
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.clone())
    }

    #[cfg(all(test, feature = "self-signed"))]
    pub(super) fn shown(&self) -> Arc<CertifiedKey> {
        self.shown.0.load_full()
    }

    /// Keeps what is shown up to date until `stop`.
    pub(super) async fn follow(mut self, stop: CancellationToken) {
        let period = self.source.period();
        while stop
            .run_until_cancelled(tokio::time::sleep(period))
            .await
            .is_some()
        {
            if let Some(certified) = self.source.next().await {
                self.shown.0.store(Arc::new(certified));
                tracing::info!(certificate = %self.source, "a new certificate is shown");
            }
        }
    }
}

impl Source {
    fn period(&self) -> Duration {
        match self {
            Self::Files(_) => PERIOD,
            #[cfg(feature = "self-signed")]
            Self::Made(_) => self_signed::VALID / 2,
        }
    }

    /// What is to be shown instead, if anything.
    async fn next(&mut self) -> Option<CertifiedKey> {
        match self {
            Self::Files(watched) => watched.look().await,
            #[cfg(feature = "self-signed")]
            Self::Made(names) => self_signed::make(names)
                .inspect_err(|error| tracing::error!(%error, "the old one is shown further"))
                .ok(),
        }
    }
}

impl WatchedFiles {
    async fn look(&mut self) -> Option<CertifiedKey> {
        self.metrics.reads.inc();
        match self.changed().await {
            Ok(changed) => {
                self.problem = None;
                let (certified, pems) = changed?;
                self.pems = pems;
                Some(certified)
            }
            Err(error) => {
                self.metrics.errors.inc();
                let problem = error.to_string();
                if self.problem.as_ref() != Some(&problem) {
                    tracing::error!("{problem}: the old certificate is shown further");
                    self.problem = Some(problem);
                }
                None
            }
        }
    }

    async fn changed(&self) -> Result<Option<(CertifiedKey, Pems)>, TlsError> {
        let pems = self.files.read().await?;
        if pems == self.pems {
            return Ok(None);
        }
        Ok(Some((self.files.parse(&pems)?, pems)))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(watched) => watched.files.certificate.display().fmt(f),
            #[cfg(feature = "self-signed")]
            Self::Made(names) => write!(f, "self-signed for {}", names.join(", ")),
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({})", self.source)
    }
}
