use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "self-signed")]
use super::certificates::{KeepError, Keeper, Stored};
use super::{ReadCaches, Webhook, configuration::Target, conversion, installer::Installer, routes};
#[cfg(feature = "self-signed")]
use crate::server::CertificateHandle;
use crate::{
    backoff::{Growth, Jitter},
    client::{self, Client},
    health::Health,
    metrics::Metrics,
    resource::{Access, Versions},
    server::{Address, Limits, Routes, Server, Tls, TlsError},
};

/// The pause between two looks at the files.
const FILE_CHECK_PERIOD: Duration = Duration::from_secs(10);
/// The pauses after a failure.
const RETRIES: Growth =
    Growth::doubling(Duration::from_secs(1), Duration::from_secs(60)).jitter(0.2);

/// What the webhooks of an operator need to be served.
#[derive(Clone, Debug)]
pub(crate) struct WebhookOptions {
    pub(crate) operator: String,
    /// The namespace of the operator's pods.
    pub(crate) namespace: String,
    pub(crate) webhooks: Vec<Webhook>,
    /// The kinds whose objects it converts.
    pub(crate) conversions: Vec<Versions>,
    pub(crate) address: Address,
    /// A folder with `tls.crt`, `tls.key` and perhaps `ca.crt`. Without it the replicas make certificates themselves.
    pub(crate) certificates: Option<PathBuf>,
    /// The URL at which the API server reaches this process. Without it, it uses the Service.
    pub(crate) url: Option<String>,
    /// The pause between two looks at the Secret and at the configurations.
    pub(crate) check_period: Duration,
    /// What the webhooks read.
    pub(crate) caches: ReadCaches,
}

impl WebhookOptions {
    /// The Secret in which the replicas of an operator keep the certificates that they make.
    pub(crate) fn secret(operator: &str) -> String {
        format!("{operator}-webhook-certificates")
    }

    /// The access that serving needs.
    pub(crate) fn access(&self) -> Access {
        let target = Target::service_of(&self.operator, &self.namespace);
        let (operator, namespace) = (&self.operator, &self.namespace);
        let all =
            super::Configurations::new(operator, namespace, &self.webhooks, &target, None).access();
        let all = all.and(conversion::access(&self.conversions));
        let reads = self.webhooks.iter().map(|webhook| webhook.reads.access());
        let all = reads.fold(all, Access::and);
        #[cfg(feature = "self-signed")]
        if self.certificates.is_none() {
            return all.and(Keeper::access(operator, namespace));
        }
        all
    }
}

/// Why webhooks cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebhookError {
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[cfg(feature = "self-signed")]
    #[error(transparent)]
    Keep(#[from] KeepError),
    #[error("cannot read {}: {source}", .path.display())]
    Bundle { path: PathBuf, source: io::Error },
    #[error(
        "this binary cannot make certificates for webhooks: build it with the feature `self-signed` of pilothouse, or give a \
         folder with certificates (--webhook-certificate-dir)"
    )]
    #[cfg_attr(
        feature = "self-signed",
        expect(dead_code, reason = "the other build has it")
    )]
    NoSelfSigned,
}

/// What the readiness check shows: the last failure, if it is not mended.
#[derive(Clone, Debug)]
pub(crate) struct WebhookHealth(Arc<Mutex<Result<(), String>>>);

impl WebhookHealth {
    /// Whether the webhooks are served and the API server knows it.
    pub(crate) fn check(&self) -> Health {
        self.0.lock().clone()
    }
}

/// The webhooks of an operator, at an address.
pub(crate) struct WebhookServer {
    server: Server,
    routes: Routes,
    installer: Installer,
    certificates: Source,
    health: WebhookHealth,
    check_period: Duration,
}

enum Source {
    Files(PathBuf),
    #[cfg(feature = "self-signed")]
    Own(Box<Keeper>),
}

/// The certificate in use, after a successful start.
struct InUse {
    bundle: Option<Vec<u8>>,
    #[cfg(feature = "self-signed")]
    own: Option<(Stored, CertificateHandle)>,
}

impl WebhookServer {
    /// Binds the address. From then on the kernel accepts connections; they wait for [`run`](PreparedServer::run). After
    /// `stopping`, each answer asks the API server to use another connection for the next request.
    ///
    /// # Errors
    /// The port is in use, or this binary can make no certificates and none are given.
    pub(crate) async fn bind(
        options: WebhookOptions,
        client: &Client,
        metrics: &Metrics,
        stopping: CancellationToken,
    ) -> Result<Result<Self, WebhookError>, io::Error> {
        let server = Server::bind(&options.address).await?;
        let server = server.limits(Limits::WEBHOOKS);
        let port = server.local_addr()?.port();
        let target = match options.url {
            // The port was chosen just now.
            Some(url) => Target::Url(match url.strip_suffix(":0") {
                Some(host) => format!("{host}:{port}"),
                None => url,
            }),
            None => Target::service_of(&options.operator, &options.namespace),
        };
        let certificates = match options.certificates {
            Some(folder) => Source::Files(folder),
            #[cfg(feature = "self-signed")]
            None => Source::Own(Box::new(Keeper::new(
                client,
                &options.operator,
                &options.namespace,
                target.hosts(),
            ))),
            #[cfg(not(feature = "self-signed"))]
            None => return Ok(Err(WebhookError::NoSelfSigned)),
        };
        let waiting = "the webhooks have no certificate yet".to_owned();
        Ok(Ok(Self {
            server,
            routes: routes(
                &options.webhooks,
                &options.conversions,
                metrics,
                &options.caches,
                stopping,
            ),
            installer: Installer::new(
                client.clone(),
                options.operator,
                options.namespace,
                options.webhooks,
                options.conversions,
                target,
            ),
            certificates,
            health: WebhookHealth(Arc::new(Mutex::new(Err(waiting)))),
            check_period: options.check_period,
        }))
    }

    /// The address of the listener, with the actual port.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.server.local_addr()
    }

    pub(crate) fn health(&self) -> WebhookHealth {
        self.health.clone()
    }

    /// Makes the certificate and the configurations ready, again and again until it succeeds.
    pub(crate) async fn prepare(self, metrics: &Metrics) -> PreparedServer {
        let mut failures = Failures::new(self.health);
        let (tls, in_use) = loop {
            match start(&self.certificates, &self.installer, metrics).await {
                Ok(started) => break started,
                Err(error) => failures.pause(&error).await,
            }
        };
        failures.ended();
        PreparedServer {
            server: self.server.tls(tls),
            routes: self.routes,
            keeping: Keeping {
                installer: self.installer,
                certificates: self.certificates,
                in_use,
                failures,
                check_period: self.check_period,
            },
        }
    }
}

/// The first certificate, and the configurations with its bundle.
async fn start(
    certificates: &Source,
    installer: &Installer,
    metrics: &Metrics,
) -> Result<(Tls, InUse), WebhookError> {
    let (tls, in_use) = match certificates {
        Source::Files(folder) => {
            let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
            let tls = Tls::from_files(certificate, key, metrics).await?;
            let in_use = InUse {
                bundle: read_bundle(folder).await?,
                #[cfg(feature = "self-signed")]
                own: None,
            };
            (tls, in_use)
        }
        #[cfg(feature = "self-signed")]
        Source::Own(keeper) => {
            let stored = keeper.current().await?;
            let (certificate, key) = stored.pair().unwrap_or_default();
            let (tls, handle) = Tls::replaceable(certificate.as_bytes(), key.as_bytes())?;
            let in_use = InUse {
                bundle: Some(stored.bundle().into_bytes()),
                own: Some((stored, handle)),
            };
            (tls, in_use)
        }
    };
    installer.install(in_use.bundle.as_deref(), true).await?;
    Ok((tls, in_use))
}

/// Webhooks that are ready to be served.
pub(crate) struct PreparedServer {
    server: Server,
    routes: Routes,
    keeping: Keeping,
}

impl PreparedServer {
    /// Serves until `stop` is cancelled, and replaces certificates meanwhile.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let kept = self.keeping.run(&stop);
        tokio::join!(self.server.run(self.routes, stop.clone()), kept);
    }
}

/// Keeps the certificate and the configurations current.
struct Keeping {
    installer: Installer,
    certificates: Source,
    in_use: InUse,
    failures: Failures,
    #[cfg_attr(
        not(feature = "self-signed"),
        expect(dead_code, reason = "only own certificates are checked so")
    )]
    check_period: Duration,
}

impl Keeping {
    async fn run(mut self, stop: &CancellationToken) {
        let period = match &self.certificates {
            Source::Files(_) => FILE_CHECK_PERIOD,
            #[cfg(feature = "self-signed")]
            Source::Own(_) => self.check_period,
        };
        // Losing a check loses nothing: the next start does it again.
        let checks = async {
            loop {
                tokio::time::sleep(period).await;
                while let Err(error) = self.check().await {
                    self.failures.pause(&error).await;
                }
                self.failures.ended();
            }
        };
        let _: Option<()> = stop.run_until_cancelled(checks).await;
    }

    async fn check(&mut self) -> Result<(), WebhookError> {
        match &self.certificates {
            // The server reads the other files itself.
            Source::Files(folder) => {
                let bundle = read_bundle(folder).await?;
                if bundle != self.in_use.bundle {
                    self.installer.install(bundle.as_deref(), false).await?;
                    self.in_use.bundle = bundle;
                }
            }
            #[cfg(feature = "self-signed")]
            Source::Own(keeper) => {
                let stored = keeper.current().await?;
                // The bundle first: it verifies the old and the new certificate.
                let bundle = stored.bundle().into_bytes();
                self.installer.install(Some(&bundle), false).await?;
                self.in_use.bundle = Some(bundle);
                if let Some((used, handle)) = &mut self.in_use.own
                    && stored.pair() != used.pair()
                {
                    let (certificate, key) = stored.pair().unwrap_or_default();
                    handle.replace(certificate.as_bytes(), key.as_bytes())?;
                    tracing::info!("the webhooks have a new certificate");
                    *used = stored;
                }
            }
        }
        Ok(())
    }
}

/// The authorities in `ca.crt`. `None` without the file: then somebody else writes them into the configurations, or the API server
/// knows the authority anyway.
async fn read_bundle(folder: &std::path::Path) -> Result<Option<Vec<u8>>, WebhookError> {
    let path = folder.join("ca.crt");
    match tokio::fs::read(&path).await {
        Ok(bundle) => Ok(Some(bundle)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(WebhookError::Bundle { path, source }),
    }
}

/// Failures one after the other.
struct Failures {
    health: WebhookHealth,
    count: u32,
    jitter: Jitter,
}

impl Failures {
    fn new(health: WebhookHealth) -> Self {
        Self {
            health,
            count: 0,
            jitter: Jitter::random(),
        }
    }

    /// Reports a failure, and waits before the next attempt.
    async fn pause(&mut self, error: &WebhookError) {
        let text = format!("preparing the webhooks failed: {error}");
        let is_new = self.health.check().err().as_ref() != Some(&text);
        if is_new {
            tracing::error!("{text}");
        }
        *self.health.0.lock() = Err(text);
        let pause = RETRIES.pause(self.count, &mut self.jitter);
        self.count = self.count.saturating_add(1);
        tokio::time::sleep(pause).await;
    }

    fn ended(&mut self) {
        self.count = 0;
        *self.health.0.lock() = Ok(());
    }
}
