//! A process with a candidate, and its network.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use parking_lot::Mutex;
use pilothouse_sandbox::Sandbox;
use tokio::time::sleep;

use crate::{
    client::{Api, Body, BoxError, Client, Config, RequestService},
    election::{Election, ElectionSettings, Leading},
    metrics::Metrics,
};

/// The state of the network between one candidate and the server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum NetworkState {
    #[default]
    Fine,
    /// The server cannot be reached.
    Outage,
    /// Each request takes this long to reach the server.
    Slow(Duration),
    /// Requests are applied, but their responses are lost.
    Deaf,
}

#[derive(Clone, Default)]
pub(super) struct Network(Arc<Mutex<NetworkState>>);

impl Network {
    pub(super) fn set(&self, network_state: NetworkState) {
        *self.0.lock() = network_state;
    }

    pub(super) fn over(
        &self,
        inner: RequestService,
    ) -> impl tower::Service<
        http::Request<Body>,
        Response = http::Response<Body>,
        Error = BoxError,
        Future = futures_util::future::BoxFuture<'static, Result<http::Response<Body>, BoxError>>,
    > + Clone
    + Send
    + Sync
    + use<> {
        let network = self.clone();
        tower::service_fn(move |request| {
            let network_state = *network.0.lock();
            let inner = inner.clone();
            Box::pin(async move {
                match network_state {
                    NetworkState::Fine => {}
                    NetworkState::Outage => return Err("the server cannot be reached".into()),
                    NetworkState::Slow(time) => sleep(time).await,
                    NetworkState::Deaf => {
                        let _ = tower::ServiceExt::oneshot(inner, request).await;
                        std::future::pending::<()>().await;
                        return Err("never".into());
                    }
                }
                tower::ServiceExt::oneshot(inner, request).await
            }) as futures_util::future::BoxFuture<'static, _>
        })
    }
}

/// One process of an operator.
pub(super) struct Process {
    pub(super) client: Client,
    pub(super) network: Network,
    pub(super) metrics: Metrics,
    pub(super) identity: &'static str,
    pub(super) overdue: Arc<AtomicUsize>,
}

impl Process {
    pub(super) fn of(sandbox: &Sandbox, identity: &'static str) -> Self {
        let (pipes, network) = (sandbox.clone(), Network::default());
        let over = network.clone();
        let config = Config::new(http::Uri::from_static("http://sandbox"));
        let client = Client::builder(config)
            .connector(Arc::new(move || Ok(pipes.connect())))
            .layer(tower::layer::layer_fn(move |inner| over.over(inner)))
            .build()
            .unwrap();
        Self {
            client,
            network,
            metrics: Metrics::new(),
            identity,
            overdue: Arc::default(),
        }
    }

    pub(super) fn candidate(&self) -> Election {
        let settings = ElectionSettings::new("website")
            .on_tokio_clock()
            .identity(self.identity);
        let overdue = self.overdue.clone();
        let election = Election::new(&self.client, settings, &self.metrics).unwrap();
        election.on_overdue(move || {
            overdue.fetch_add(1, Ordering::SeqCst);
        })
    }

    pub(super) async fn lead(&self) -> Leading {
        self.candidate().lead().await
    }

    pub(super) fn leases(&self) -> Api<Lease> {
        Api::namespaced(&self.client, "default")
    }

    pub(super) async fn lease(&self) -> LeaseSpec {
        self.leases().get("website").await.unwrap().spec.unwrap()
    }

    pub(super) async fn holder(&self) -> String {
        self.lease().await.holder_identity.unwrap_or_default()
    }

    /// The second in which this process took over a Lease that nobody had released.
    pub(super) fn expired_takeover(&self) -> i64 {
        let metrics = self.metrics.election("website");
        metrics.expired_takeover.get() as i64
    }

    pub(super) fn metric(&self, line: &str) -> bool {
        self.metrics.encode().contains(&format!("{line}\n"))
    }
}
