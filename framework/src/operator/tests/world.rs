//! Operators that behave like separate processes, with the sandbox's API server between them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{ConfigMap, Secret},
};
use parking_lot::Mutex;
use pilothouse_sandbox::{RecordedRequest, Sandbox};
use tokio::time::sleep;

use crate::{
    client::{Api, Body, BoxError, Client, Config, PostParams, RequestService},
    controller::{Action, Context, Controller, Reconciler, Result},
    election::ElectionSettings,
    health::Query,
    operator::{Operator, Running},
    resource::Object,
};

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The state of the network between one process and the server.
#[derive(Clone, Default)]
pub(super) struct Network(Arc<Mutex<NetworkState>>);

#[derive(Default)]
struct NetworkState {
    outage: bool,
    panics: Option<&'static str>,
    hangs: Option<&'static str>,
}

impl Network {
    /// Starts or ends an outage of the server.
    pub(super) fn outage(&self, outage: bool) {
        self.0.lock().outage = outage;
    }

    /// Makes a user's layer panic when the path of a request contains this.
    pub(super) fn panics(&self, on: &'static str) {
        self.0.lock().panics = Some(on);
    }

    /// Leaves requests unanswered whose path contains this.
    pub(super) fn hangs(&self, on: &'static str) {
        self.0.lock().hangs = Some(on);
    }

    fn over(
        &self,
        inner: RequestService,
    ) -> impl tower::Service<
        http::Request<Body>,
        Response = http::Response<Body>,
        Error = BoxError,
        Future = BoxFuture<'static, std::result::Result<http::Response<Body>, BoxError>>,
    > + Clone
    + Send
    + Sync
    + use<> {
        let network = self.clone();
        tower::service_fn(move |request: http::Request<Body>| {
            let (network, inner) = (network.clone(), inner.clone());
            Box::pin(async move {
                let (outage, panics, hangs) = {
                    let network_state = network.0.lock();
                    (
                        network_state.outage,
                        network_state.panics,
                        network_state.hangs,
                    )
                };
                let path = request.uri().path();
                assert!(!panics.is_some_and(|on| path.contains(on)), "on purpose");
                if outage {
                    return Err("the server cannot be reached".into());
                }
                if hangs.is_some_and(|on| path.contains(on)) {
                    std::future::pending::<()>().await;
                }
                tower::ServiceExt::oneshot(inner, request).await
            }) as BoxFuture<'static, _>
        })
    }
}

/// One process of an operator. Its name is its identity and its user agent.
pub(super) struct Process {
    pub(super) name: &'static str,
    pub(super) client: Client,
    pub(super) network: Network,
}

impl Process {
    pub(super) fn of(sandbox: &Sandbox, name: &'static str) -> Self {
        let (pipes, network) = (sandbox.clone(), Network::default());
        let over = network.clone();
        let client = Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
            .connector(Arc::new(move || Ok(pipes.connect())))
            .user_agent(name)
            .layer(tower::layer::layer_fn(move |inner| over.over(inner)))
            .build()
            .unwrap();
        Self {
            name,
            client,
            network,
        }
    }

    /// An operator with one controller and an election.
    pub(super) fn operator(&self, scribe: &Scribe) -> Operator {
        self.unelected(scribe).election(
            ElectionSettings::new("scribe")
                .on_tokio_clock()
                .identity(self.name),
        )
    }

    pub(super) fn unelected(&self, scribe: &Scribe) -> Operator {
        let mut scribe = scribe.clone();
        scribe.name = self.name;
        Operator::new("scribe").controller(scribe)
    }

    pub(super) async fn start(&self, operator: Operator) -> Running {
        let running = operator.start(self.client.clone()).await.unwrap();
        running.synced().await;
        running
    }

    pub(super) async fn create(&self, name: &str) {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.into());
        let api: Api<ConfigMap> = Api::namespaced(&self.client, "default");
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    pub(super) async fn lease(&self) -> Lease {
        let leases: Api<Lease> = Api::namespaced(&self.client, "default");
        leases.get("scribe").await.unwrap()
    }

    /// The holder of the Lease.
    pub(super) async fn holder(&self) -> String {
        let spec = self.lease().await.spec.unwrap();
        spec.holder_identity.unwrap_or_default()
    }
}

/// A reconciler that writes its name into a Secret for each ConfigMap, after a while.
#[derive(Clone)]
pub(super) struct Scribe {
    pub(super) name: &'static str,
    pub(super) takes: Duration,
    pub(super) begun: Arc<AtomicUsize>,
    pub(super) running: Arc<AtomicUsize>,
    pub(super) done: Arc<AtomicUsize>,
    /// The values of the objects, call by call.
    pub(super) saw: Arc<Mutex<Vec<String>>>,
}

impl Scribe {
    pub(super) fn taking(takes: Duration) -> Self {
        Self {
            name: "",
            takes,
            begun: Arc::default(),
            running: Arc::default(),
            done: Arc::default(),
            saw: Arc::default(),
        }
    }

    pub(super) fn quick() -> Self {
        Self::taking(Duration::ZERO)
    }
}

pub(super) fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

struct Runs(Arc<AtomicUsize>);

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Reconciler for Scribe {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Secret>().concurrency(1000)
    }

    async fn reconcile(&self, object: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result<Action> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let held = object.data.iter().flat_map(|data| data.values());
        self.saw.lock().extend(held.cloned());
        self.running.fetch_add(1, Ordering::SeqCst);
        let _runs = Runs(self.running.clone());
        sleep(self.takes).await;
        let mut secret = Secret::default();
        secret.metadata.name = Some(object.name().into());
        secret.string_data = Some([("by".to_owned(), self.name.to_owned())].into());
        cx.apply(secret).await?;
        self.done.fetch_add(1, Ordering::SeqCst);
        Ok(Action::wait())
    }
}

pub(super) fn sandbox() -> Sandbox {
    Sandbox::builder()
        .seed(1)
        .request_log(100_000)
        .build()
        .unwrap()
}

/// The process that sent the request.
pub(super) fn sender(request: &RecordedRequest) -> &str {
    let agent = request.user_agent.split([' ', '/']).next();
    agent.unwrap_or_default()
}

/// The requests that change something.
pub(super) fn writes(sandbox: &Sandbox) -> Vec<RecordedRequest> {
    let mut requests = sandbox.requests();
    requests.retain(|request| request.method != "GET");
    requests
}

/// The line of one check in `/readyz?verbose`.
pub(super) fn ready(running: &Running, check: &str) -> String {
    let report = running.ready().report(&Query::parse(Some("verbose")));
    let text = report.to_string();
    let line = text.lines().find(|line| line[3..].starts_with(check));
    line.unwrap_or_default().to_owned()
}

pub(super) fn is_ready(running: &Running) -> bool {
    running.ready().report(&Query::default()).healthy()
}
