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
    certificate_files::{CertificateFiles, PemPair},
};
use crate::metrics::{CertificateMetrics, Metrics};

/// The time between two checks of the files.
const CHECK_PERIOD: Duration = Duration::from_secs(10);

/// The certificate of a server, with TLS 1.2 and 1.3. ALPN offers HTTP/2 and HTTP/1.1.
///
/// The files are read every 10 s and their content is compared, not their time. A new pair is used from the
/// next handshake on. If a new pair cannot be used, the old one stays in use; the error is logged once and
/// counted at each check.
pub struct Tls {
    current: Arc<CurrentCertificate>,
    config: Arc<ServerConfig>,
    source: Source,
}

/// The source of the next certificate.
enum Source {
    Files(WatchedFiles),
    #[cfg(feature = "self-signed")]
    SelfSigned(Vec<String>),
    /// The program replaces the certificate itself.
    Program,
}

/// A certificate with its chain and its key, ready to be served.
pub(crate) type ServedCertificate = CertifiedKey;

/// Replaces the certificate of a [`Tls::replaceable`].
#[derive(Clone)]
pub(crate) struct CertificateHandle(Arc<CurrentCertificate>);

impl CertificateHandle {
    /// Uses another certificate from the next handshake on.
    pub(crate) fn set(&self, certificate: ServedCertificate) {
        self.0.0.store(Arc::new(certificate));
    }

    #[cfg(all(test, feature = "self-signed"))]
    pub(crate) fn current(&self) -> Arc<ServedCertificate> {
        self.0.0.load_full()
    }
}

/// Parses a pair that the program made. Both are PEM, the certificate followed by its intermediate certificates.
///
/// # Errors
/// [`TlsError::Content`] if one is not valid PEM, [`TlsError::Pair`] if the two do not fit.
#[cfg(feature = "self-signed")]
pub(crate) fn parse_own(certificate: &[u8], key: &[u8]) -> Result<ServedCertificate, TlsError> {
    let pems = PemPair::new(certificate.to_vec(), key.to_vec().into());
    let places = CertificateFiles {
        certificate: "the certificate of the program".into(),
        key: "its key".into(),
    };
    places.parse(&pems)
}

struct WatchedFiles {
    files: CertificateFiles,
    /// The content in use.
    pems: PemPair,
    /// The error of the last check, if it failed.
    problem: Option<String>,
    metrics: CertificateMetrics,
}

/// The certificate for the next handshake.
#[derive(Debug)]
struct CurrentCertificate(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Tls {
    /// Uses the certificate in a PEM file, followed by its intermediate certificates. Its private key is in
    /// another PEM file.
    ///
    /// # Errors
    /// [`TlsError::Read`] if a file cannot be read, [`TlsError::Content`] if it is not valid PEM,
    /// [`TlsError::Pair`] if the two do not fit, [`TlsError::Setup`] if TLS cannot be set up.
    pub async fn from_files(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
        metrics: &Metrics,
    ) -> Result<Self, TlsError> {
        let files = CertificateFiles {
            certificate: certificate.into(),
            key: key.into(),
        };
        let metrics = metrics.certificate();
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

    /// Uses a certificate that is created now for these host names and addresses. Clients cannot verify it: it
    /// protects against eavesdropping, but not against an impostor. It is valid for a year, replaced after half a
    /// year, and never stored.
    ///
    /// # Errors
    /// [`TlsError::SelfSigned`] if a name is not a host name or an address, [`TlsError::Setup`] if TLS cannot be
    /// set up.
    #[cfg(feature = "self-signed")]
    pub fn self_signed(
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, TlsError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        Self::new(self_signed::make(&names)?, Source::SelfSigned(names))
    }

    /// Uses a certificate that the program replaces itself.
    ///
    /// # Errors
    /// [`TlsError::Setup`] if TLS cannot be set up.
    pub(crate) fn replaceable(
        certificate: ServedCertificate,
    ) -> Result<(Self, CertificateHandle), TlsError> {
        let tls = Self::new(certificate, Source::Program)?;
        let handle = CertificateHandle(tls.current.clone());
        Ok((tls, handle))
    }

    fn new(certified: CertifiedKey, source: Source) -> Result<Self, TlsError> {
        let current = Arc::new(CurrentCertificate(ArcSwap::from_pointee(certified)));
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?;
        let mut config = builder
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            current,
            config: Arc::new(config),
            source,
        })
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.clone())
    }

    #[cfg(all(test, feature = "self-signed"))]
    pub(super) fn current(&self) -> Arc<CertifiedKey> {
        self.current.0.load_full()
    }

    /// Keeps the certificate up to date until `stop` is cancelled.
    pub(super) async fn keep_current(mut self, stop: CancellationToken) {
        let period = self.source.period();
        while stop
            .run_until_cancelled(tokio::time::sleep(period))
            .await
            .is_some()
        {
            if let Some(certified) = self.source.next().await {
                self.current.0.store(Arc::new(certified));
                tracing::info!(certificate = %self.source, "a new certificate is in use");
            }
        }
    }
}

impl Source {
    fn period(&self) -> Duration {
        match self {
            Self::Files(_) => CHECK_PERIOD,
            #[cfg(feature = "self-signed")]
            Self::SelfSigned(_) => self_signed::VALID / 2,
            // It never has a new one by itself.
            Self::Program => Duration::MAX,
        }
    }

    /// The new certificate, if there is one.
    async fn next(&mut self) -> Option<CertifiedKey> {
        match self {
            Self::Files(watched) => watched.check().await,
            #[cfg(feature = "self-signed")]
            Self::SelfSigned(names) => self_signed::make(names)
                .inspect_err(|error| tracing::error!(%error, "renewing the self-signed certificate failed: the old one stays in use"))
                .ok(),
            Self::Program => None,
        }
    }
}

impl WatchedFiles {
    async fn check(&mut self) -> Option<CertifiedKey> {
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
                    tracing::error!("{problem}: the old certificate stays in use");
                    self.problem = Some(problem);
                }
                None
            }
        }
    }

    async fn changed(&self) -> Result<Option<(CertifiedKey, PemPair)>, TlsError> {
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
            Self::SelfSigned(names) => write!(f, "self-signed for {}", names.join(", ")),
            Self::Program => f.write_str("made by the program"),
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({})", self.source)
    }
}
