use std::{collections::BTreeSet, fmt, future::Future};

use tokio_util::sync::CancellationToken;

use super::{
    LogHandle, OperatorError, Running, Serving, Setup,
    readiness::OwnKinds,
    registration::{Registered, Registration},
    runnable::Runnable,
};
use crate::{
    cache::InformersBuilder,
    client::Client,
    controller::{Failure, Reconciler},
    crd::{self, CustomResourceDefinition},
    election::ElectionSettings,
    metrics::Metrics,
    resource::ApiResource,
    server::Address,
};

/// One program's controllers with all that they share: client, caches, metrics, health, start and stop.
///
/// The name is the field manager of everything the operator applies, and the name of its command line. Keep it:
/// under another name the operator would not know its own fields again.
///
/// ```no_run
/// # use pilothouse::{k8s::api::core::v1::ConfigMap, prelude::*};
/// # struct Greeter;
/// # impl Reconciler for Greeter {
/// #     type Resource = ConfigMap;
/// #     async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> { Ok(Action::wait()) }
/// # }
/// fn main() -> ExitCode {
///     Operator::new("greeter").controller(Greeter).main()
/// }
/// ```
#[must_use = "nothing runs before `main`, `run` or `start`"]
pub struct Operator {
    pub(super) name: String,
    pub(super) metrics: Metrics,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) informers: Vec<InformerOptions>,
    pub(super) metrics_address: Option<Address>,
    pub(super) serving: Serving,
    pub(super) debug_page: bool,
    pub(super) debug_hosts: Vec<String>,
    pub(super) version: Option<String>,
    pub(super) example: Option<String>,
    pub(super) flags: Option<clap::ArgMatches>,
    pub(super) log: LogHandle,
    pub(super) registered: Vec<Box<dyn Registration>>,
    pub(super) runnables: Vec<Runnable>,
    /// Whether it elects; `None` when that is left to who starts it.
    pub(super) elects: Option<bool>,
    pub(super) election: Option<ElectionSettings>,
    /// Cancelled when it begins to stop, for whatever reason.
    pub(super) stopping: CancellationToken,
}

/// What is said of the caches.
pub(super) type InformerOptions = Box<dyn FnOnce(InformersBuilder) -> InformersBuilder + Send>;

impl Operator {
    /// An operator without controllers, for all namespaces, that serves no HTTP.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            metrics: Metrics::new(),
            namespaces: BTreeSet::new(),
            informers: Vec::new(),
            metrics_address: None,
            serving: Serving::default(),
            debug_page: false,
            debug_hosts: Vec::new(),
            version: None,
            example: None,
            flags: None,
            log: LogHandle::default(),
            registered: Vec::new(),
            runnables: Vec::new(),
            elects: None,
            election: None,
            stopping: CancellationToken::new(),
        }
    }

    /// Adds a controller.
    pub fn controller<R: Reconciler>(self, reconciler: R) -> Self {
        self.controller_with(async move |_| Ok(reconciler))
    }

    /// Adds a controller whose reconciler needs a client, flags or metrics to be built. The function is called when
    /// the operator starts, and not at all when it only prints something.
    pub fn controller_with<R, F, B>(mut self, build: B) -> Self
    where
        R: Reconciler,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
        B: FnOnce(Setup) -> F + Send + 'static,
    {
        self.registered.push(Registered::boxed(build));
        self
    }

    /// Of several processes with this operator, one works: the one that holds the Lease. The others keep their caches
    /// full, are ready, and take over when it stops or is gone.
    ///
    /// The command line decides when there is one: `run` elects by the Lease of the operator's name unless `--leader-elect=false` is
    /// said, and `--lease-name`, `--lease-namespace`, `--lease-duration`, `--renew-deadline` and `--retry-period` come
    /// before what is said here; `dev` elects only when it is told to. `None` makes `run` elect nobody
    /// by default. Without a command line, [`run`](Self::run) and [`start`](Self::start) elect only by
    /// what is said here.
    ///
    /// A leader's requests, those of [`Setup::client`] included, go out only while it leads; before, they pass. When
    /// leadership is lost all reconciles are cancelled at once, and the operator ends with
    /// [`OperatorError::LeadershipLost`]. Work that blocks its thread then ends the process with exit code 3.
    ///
    /// ```
    /// # use pilothouse::{election::ElectionSettings, prelude::*};
    /// let operator = Operator::new("website").election(ElectionSettings::new("website").namespace("operators"));
    /// # drop(operator);
    /// ```
    pub fn election(mut self, settings: impl Into<Option<ElectionSettings>>) -> Self {
        self.election = settings.into();
        self.elects = Some(self.election.is_some());
        self
    }

    /// Runs something of one's own beside the controllers, whether this process leads or not: `run` is called when the
    /// caches are full, but for those of kinds that the server does not give. On a stop its token is
    /// cancelled, and it gets the same 25 s as reconciles to end; then it is dropped. It may end before.
    ///
    /// If it fails or panics the operator stops in order and ends with exit code 1.
    ///
    /// ```
    /// # use pilothouse::prelude::*;
    /// let operator = Operator::new("website").runnable("greeting", |setup, stop| async move {
    ///     println!("hello from {}", setup.client().server());
    ///     stop.cancelled().await;
    ///     Ok(())
    /// });
    /// # drop(operator);
    /// ```
    pub fn runnable<S, F>(mut self, name: impl Into<String>, run: S) -> Self
    where
        S: FnOnce(Setup, CancellationToken) -> F + Send + 'static,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        self.runnables.push(Runnable::new(name.into(), false, run));
        self
    }

    /// As [`runnable`](Self::runnable), but only while this process leads: its client is fenced, and it is dropped at
    /// once when leadership is lost. Without an [`election`](Self::election) there is no difference.
    pub fn leader_runnable<S, F>(mut self, name: impl Into<String>, run: S) -> Self
    where
        S: FnOnce(Setup, CancellationToken) -> F + Send + 'static,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        self.runnables.push(Runnable::new(name.into(), true, run));
        self
    }

    /// Works in one namespace only: nothing else is listed, watched or asked for. The command line's `--namespace`
    /// comes before it.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// The same with several namespaces, each listed and watched by itself; of none of them, all namespaces. One that
    /// is forbidden holds the controllers of its kind back, and readiness names it; the caches hold the others
    /// meanwhile.
    pub fn namespaces<S: Into<String>>(mut self, namespaces: impl IntoIterator<Item = S>) -> Self {
        self.namespaces = namespaces.into_iter().map(Into::into).collect();
        self
    }

    /// Says what the caches keep of a kind, and how: transforms, packings, resyncs, and how many lists there are at the
    /// same time. Calling it again adds to what was said.
    ///
    /// ```no_run
    /// # use pilothouse::{k8s::api::core::v1::Secret, prelude::*};
    /// // The names are needed, the contents are not.
    /// let operator = Operator::new("names").informers(|informers| {
    ///     informers.transform::<Secret>(|secret| {
    ///         secret.data = None;
    ///         Ok(())
    ///     })
    /// });
    /// # drop(operator);
    /// ```
    pub fn informers(
        mut self,
        options: impl FnOnce(InformersBuilder) -> InformersBuilder + Send + 'static,
    ) -> Self {
        self.informers.push(Box::new(options));
        self
    }

    /// Serves `/metrics`, `/healthz`, `/livez` and `/readyz` there, over plain HTTP unless [`serving`](Self::serving)
    /// says otherwise. The command line decides instead
    /// when there is one; its default is `:8080`.
    pub fn metrics_address(mut self, address: Address) -> Self {
        self.metrics_address = Some(address);
        self
    }

    /// Says how metrics and health are served where they are: over HTTPS, metrics to those only who may read them.
    /// Without it both are served over HTTP to everybody. `--metrics-secure`, `--metrics-cert-path` and `--metrics-auth` come
    /// before it.
    pub fn serving(mut self, serving: Serving) -> Self {
        self.serving = serving;
        self
    }

    /// Serves a page at `/debug`, beside the metrics, that shows what the operator does just now: its controllers,
    /// the keys in their queues with state, deadline and last failure, caches, and objects that cannot be decoded;
    /// as JSON at `/debug/state.json`. It names objects and repeats the texts of errors: show it to who may see those.
    /// `--debug-page` comes before it.
    pub fn debug_page(mut self) -> Self {
        self.debug_page = true;
        self
    }

    /// Answers requests for the debug page by these host names, too, such as that of an Ingress. Without it they are
    /// answered by `localhost`, by loopback addresses and by the address that is listened on, see
    /// [`Hosts`](crate::server::Hosts): a web site that a browser shows cannot read the page. `--debug-host` comes
    /// before it.
    pub fn debug_hosts<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.debug_hosts = names.into_iter().map(Into::into).collect();
        self
    }

    /// The version of the program. It is a label of `pilothouse_build_info`, and requests bear it in their
    /// `User-Agent`; without it both name the operator alone.
    ///
    /// ```
    /// # use pilothouse::operator::Operator;
    /// let operator = Operator::new("website").version(env!("CARGO_PKG_VERSION"));
    /// # drop(operator);
    /// ```
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// A manifest that `dev` suggests to apply, as a path from where the user is or a URL.
    pub fn example(mut self, manifest: impl Into<String>) -> Self {
        self.example = Some(manifest.into());
        self
    }

    /// The operator's metrics, to add one's own to their registry.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Changes what is logged while the operator runs, once its command line has set up the log.
    pub fn log(&self) -> &LogHandle {
        &self.log
    }

    /// The definitions of the reconciled kinds that are not the API server's own, in the order of the controllers.
    ///
    /// # Errors
    /// A kind's types have no schema that Kubernetes accepts.
    pub fn definitions(&self) -> Result<Vec<CustomResourceDefinition>, OperatorError> {
        let mut names = BTreeSet::new();
        self.registered
            .iter()
            .filter_map(|registered| registered.definition())
            .filter(|definition| match definition {
                Ok(definition) => names.insert(definition.metadata.name.clone()),
                Err(_) => true,
            })
            .collect::<Result<_, _>>()
            .map_err(OperatorError::Definition)
    }

    /// Installs the definitions and waits until the server serves their kinds.
    ///
    /// # Errors
    /// A definition cannot be made, or the server refuses it.
    pub fn install<'a>(
        &self,
        client: &'a Client,
    ) -> impl Future<Output = Result<(), OperatorError>> + Send + use<'a> {
        // Not held while it waits: reconcilers that are to be built cannot be shared by threads.
        let (definitions, name) = (self.definitions(), self.name.clone());
        async move { Ok(crd::install(client, &definitions?, &name).await?) }
    }

    /// Runs until `cancel`, then stops in order; see the module's page. `client` is what everything goes through.
    ///
    /// # Errors
    /// Something needed for the start is not there. Later: leadership was lost, a runnable or a background task failed,
    /// or work did not end when it had to. What else goes wrong is retried, logged and counted.
    /// [`OperatorError::exit_code`] is what the process should end with.
    pub async fn run(self, client: Client, cancel: CancellationToken) -> Result<(), OperatorError> {
        tokio::select! {
            running = self.start(client) => {
                running?.run_until(cancel.clone()).await
            }
            // What was started by then ends with the guards that the dropped future holds.
            () = cancel.cancelled() => Ok(()),
        }
    }

    /// Starts everything and returns; caches may not have synced by then.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    pub async fn start(self, client: Client) -> Result<Running, OperatorError> {
        Running::start(self, client).await
    }

    /// The kinds it brings itself, for messages.
    pub(super) fn own_kinds(&self) -> OwnKinds {
        OwnKinds {
            operator: self.name.clone(),
            names: self
                .registered
                .iter()
                .filter(|registered| registered.definition().is_some())
                .map(|registered| registered.resource().qualified_plural())
                .collect(),
        }
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<ApiResource> = self
            .registered
            .iter()
            .map(|registered| registered.resource())
            .collect();
        f.debug_struct("Operator")
            .field("name", &self.name)
            .field("kinds", &kinds)
            .finish_non_exhaustive()
    }
}
