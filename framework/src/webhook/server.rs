use std::{collections::BTreeSet, io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "self-signed")]
use super::certificates::{KeepError, Keeper};
use super::{
    Configurations, ReadCaches, Target, Webhook, conversion,
    files::Folder,
    installer::Installer,
    keeping::{Keeping, Source},
    routes,
};
use crate::{
    backoff::{Growth, Jitter},
    client::{self, Client},
    health::Health,
    metrics::Metrics,
    resource::{Access, Versions},
    server::{Address, Limits, Routes, Server, TlsError},
};

/// The time that a conversion gets which runs at a stop. An API server waits longer, but then only for very many objects.
const CONVERSION: Duration = Duration::from_secs(10);
/// The pauses after a failure.
const RETRIES: Growth =
    Growth::doubling(Duration::from_secs(1), Duration::from_secs(60)).jitter(0.2);

/// What the webhooks of an operator need to be served.
#[derive(Clone)]
pub(crate) struct WebhookOptions {
    pub(crate) operator: String,
    /// The namespace of the operator's pods.
    pub(crate) namespace: String,
    /// The namespaces in which the operator works. An empty set means all.
    pub(crate) namespaces: BTreeSet<String>,
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
    /// The API server of this process that calls the webhooks without an address.
    #[cfg(feature = "dev")]
    pub(crate) called_in: Option<pilothouse_sandbox::Sandbox>,
}

impl WebhookOptions {
    /// The Secret in which the replicas of an operator keep the certificates that they make.
    pub(crate) fn secret(operator: &str) -> String {
        format!("{operator}-webhook-certificates")
    }

    /// The longest time that a call may take.
    pub(crate) fn longest_call(&self) -> Duration {
        let times = self.webhooks.iter().map(Webhook::longest_call);
        let conversion = (!self.conversions.is_empty()).then_some(CONVERSION);
        times.chain(conversion).max().unwrap_or_default()
    }

    /// The limits of the server. A call that runs when the server stops gets its time.
    pub(super) fn limits(&self) -> Limits {
        Limits::WEBHOOKS.with_grace(self.longest_call())
    }

    /// The access that serving needs.
    pub(crate) fn access(&self) -> Access {
        let target = Target::service_of(&self.operator, &self.namespace);
        let (operator, namespace) = (&self.operator, &self.namespace);
        let (namespaces, webhooks) = (&self.namespaces, &self.webhooks);
        let all = Configurations::new(operator, namespace, namespaces, webhooks, &target, None);
        let all = all.access();
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
    #[error(
        "the API server calls another installation of the operator for {kind} {name}: the one in the namespace {other}. An operator is \
         installed once in a cluster: uninstall this one. If the other one does not exist any more, apply what the command `manifests` \
         prints for the namespace {own}, with `kubectl apply --server-side --force-conflicts`"
    )]
    OtherInstallation {
        kind: &'static str,
        name: String,
        other: String,
        own: String,
    },
    #[error("cannot read {}: {source}", .path.display())]
    Bundle { path: PathBuf, source: io::Error },
    #[error(
        "{} holds no certificate of an authority: it has to be PEM that begins with `-----BEGIN CERTIFICATE-----`",
        .path.display()
    )]
    NoAuthority { path: PathBuf },
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
    /// Not ready yet, for this reason.
    pub(super) fn waiting(reason: String) -> Self {
        Self(Arc::new(Mutex::new(Err(reason))))
    }

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
        let server = server.limits(options.limits());
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
            Some(folder) => Source::Files(Folder::new(&folder, metrics)),
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
            installer: Installer {
                client: client.clone(),
                operator: options.operator,
                namespace: options.namespace,
                namespaces: options.namespaces,
                webhooks: options.webhooks,
                conversions: options.conversions,
                target,
            },
            certificates,
            health: WebhookHealth::waiting(waiting),
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
    pub(crate) async fn prepare(self) -> PreparedServer {
        let mut failures = Failures::new(self.health);
        let (tls, keeping) = loop {
            match Keeping::start(&self.certificates, &self.installer, self.check_period).await {
                Ok(started) => break started,
                Err(error) => failures.pause(&error).await,
            }
        };
        failures.ended();
        PreparedServer {
            server: self.server.tls(tls),
            routes: self.routes,
            keeping,
            installer: self.installer,
            certificates: self.certificates,
            failures,
        }
    }
}

/// Webhooks that are ready to be served.
pub(crate) struct PreparedServer {
    server: Server,
    routes: Routes,
    keeping: Keeping,
    installer: Installer,
    certificates: Source,
    failures: Failures,
}

impl PreparedServer {
    /// Serves until `stop` is cancelled, and replaces certificates meanwhile.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let Self {
            mut keeping,
            mut failures,
            ..
        } = self;
        // Losing a check loses nothing: the next start does it again.
        let checks = async {
            loop {
                tokio::time::sleep(self.certificates.period(keeping.check_period)).await;
                while let Err(error) = keeping.check(&self.certificates, &self.installer).await {
                    failures.pause(&error).await;
                }
                failures.ended();
            }
        };
        let kept = stop.run_until_cancelled(checks);
        let served = self.server.run(self.routes, stop.clone());
        let ((), _): ((), Option<()>) = tokio::join!(served, kept);
    }
}

/// Failures one after the other.
pub(super) struct Failures {
    health: WebhookHealth,
    count: u32,
    jitter: Jitter,
}

impl Failures {
    pub(super) fn new(health: WebhookHealth) -> Self {
        Self {
            health,
            count: 0,
            jitter: Jitter::random(),
        }
    }

    #[cfg(feature = "dev")]
    pub(super) fn health(&self) -> WebhookHealth {
        self.health.clone()
    }

    /// Reports a failure, and waits before the next attempt.
    pub(super) async fn pause(&mut self, error: &WebhookError) {
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

    pub(super) fn ended(&mut self) {
        self.count = 0;
        *self.health.0.lock() = Ok(());
    }
}
