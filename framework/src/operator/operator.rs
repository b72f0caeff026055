use std::{collections::BTreeSet, fmt, future::Future};

use tokio_util::sync::CancellationToken;

use super::{
    CommandSetup, LogHandle, OperatorError, Route, Serving, Setup, WebhookServing,
    declared_access::DeclaredAccess,
    definition_check::{self, OwnDefinition},
    manifests::ManifestChange,
    own_checks::{HealthEndpoint, OwnCheck},
    readiness::OwnKinds,
    registration::{Registered, Registration},
    runnable::Runnable,
    subcommands::Subcommands,
};
use crate::{
    admission::AdmissionRule,
    cache::InformersBuilder,
    client::Client,
    controller::{Controller, Failure, Reconciler, RuntimeKind},
    crd::{self, CustomResourceDefinition},
    election::ElectionSettings,
    health::Health,
    metrics::Metrics,
    resource::{ApiResource, Resource},
    server::Address,
    webhook::{self, Target, Webhook},
};

/// The controllers of a program and what they share: client, caches, metrics, health, start and stop.
///
/// The name is the field manager of everything the operator applies, and the name of its command line. Do not
/// change it: under another name the operator does not recognise its own fields.
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
    pub(super) routes: Vec<(String, Route)>,
    pub(super) checks: Vec<OwnCheck>,
    pub(super) subcommands: Vec<Subcommands>,
    pub(super) admission_rules: Vec<AdmissionRule>,
    pub(super) webhooks: Vec<Webhook>,
    pub(super) webhook_serving: WebhookServing,
    /// Where an API server in the same process converts objects. `None`: the operator serves the conversions.
    pub(super) conversion_target: Option<Target>,
    /// The API server of this process that calls the webhooks.
    #[cfg(feature = "dev")]
    pub(super) called_in: Option<pilothouse_sandbox::Sandbox>,
    /// Whether the program elects a leader; `None` leaves it to the command line or the caller.
    pub(super) elects: Option<bool>,
    pub(super) election: Option<ElectionSettings>,
    pub(super) access: DeclaredAccess,
    /// Changes of the printed manifests.
    pub(super) manifest_changes: Vec<ManifestChange>,
    /// Cancelled when the operator begins to stop, for any reason.
    pub(super) stopping: CancellationToken,
    /// Whether the process ends with the operator, so that nobody needs the memory of its caches.
    pub(super) ends_process: bool,
}

/// Options for the informers.
pub(super) type InformerOptions = Box<dyn FnOnce(InformersBuilder) -> InformersBuilder + Send>;

impl Operator {
    /// Creates an operator without controllers, for all namespaces, without HTTP endpoints.
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
            routes: Vec::new(),
            checks: Vec::new(),
            subcommands: Vec::new(),
            admission_rules: Vec::new(),
            webhooks: Vec::new(),
            webhook_serving: WebhookServing::default(),
            conversion_target: None,
            #[cfg(feature = "dev")]
            called_in: None,
            elects: None,
            election: None,
            access: DeclaredAccess::default(),
            manifest_changes: Vec::new(),
            stopping: CancellationToken::new(),
            ends_process: false,
        }
    }

    /// Adds a controller.
    pub fn controller<R>(mut self, reconciler: R) -> Self
    where
        R: Reconciler<Resource: Resource>,
    {
        let resource = ApiResource::of::<R::Resource>();
        self.registered
            .push(Registered::ready(resource, || Controller::new(reconciler)));
        self
    }

    /// Adds a controller whose reconciler needs a client, flags or metrics. The operator calls `build` when it starts.
    /// The framework's other subcommands do not call it; for the commands `rbac`, `manifests`, `uninstall` and `adopt-from`
    /// declare with [`wiring`](Self::wiring) what the reconciler's `wire` declares.
    pub fn controller_with<R, F, B>(mut self, build: B) -> Self
    where
        R: Reconciler<Resource: Resource>,
        F: Future<Output = Result<R, Failure>> + Send + 'static,
        B: FnOnce(Setup) -> F + Send + 'static,
    {
        let resource = ApiResource::of::<R::Resource>();
        self.registered
            .push(Registered::built(Some(resource), async move |setup| {
                build(setup).await.map(Controller::new)
            }));
        self
    }

    /// Adds a controller for a kind that is known only at run time. Its objects are
    /// [`DynamicObject`](crate::resource::DynamicObject)s, or [`PartialObject`](crate::resource::PartialObject)s if their
    /// metadata is enough. [`Controller::dynamic`] tells what differs from a kind with a Rust type.
    ///
    /// ```no_run
    /// use pilothouse::{prelude::*, resource::{ApiResource, DynamicObject}};
    ///
    /// /// Writes a ConfigMap for each object of some kind.
    /// struct Inventory;
    ///
    /// impl Reconciler for Inventory {
    ///     type Resource = DynamicObject;
    ///
    ///     fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
    ///         controller.owns::<ConfigMap>()
    ///     }
    ///
    ///     async fn reconcile(&self, object: Arc<DynamicObject>, cx: &Context<DynamicObject>) -> Result<Action> {
    ///         cx.apply(ConfigMap::named(object.name())).await?;
    ///         Ok(Action::wait())
    ///     }
    /// }
    ///
    /// fn main() -> ExitCode {
    ///     let widgets = ApiResource {
    ///         group: "example.com".into(), version: "v1".into(),
    ///         kind: "Widget".into(), plural: "widgets".into(), namespaced: true,
    ///     };
    ///     Operator::new("inventory").dynamic_controller(widgets, Inventory).main()
    /// }
    /// ```
    pub fn dynamic_controller<R>(mut self, resource: ApiResource, reconciler: R) -> Self
    where
        R: Reconciler<Resource: RuntimeKind>,
    {
        self.registered
            .push(Registered::ready(resource.clone(), || {
                Controller::dynamic(resource, reconciler)
            }));
        self
    }

    /// As [`dynamic_controller`](Self::dynamic_controller), for a kind that is known only when the operator starts: from a
    /// flag, or from the API server's [discovery](crate::client::RestMapper). As
    /// [`controller_with`](Self::controller_with), the operator calls `build` when it starts; here it returns the kind, too.
    ///
    /// Discovery finds only what the API server serves at that time. To wait for a kind that is installed later, return the
    /// kind without asking.
    ///
    /// The commands `rbac` and `manifests` do not call `build`. Declare by [`access`](Self::access) what the controller may do.
    pub fn dynamic_controller_with<R, F, B>(mut self, build: B) -> Self
    where
        R: Reconciler<Resource: RuntimeKind>,
        F: Future<Output = Result<(ApiResource, R), Failure>> + Send + 'static,
        B: FnOnce(Setup) -> F + Send + 'static,
    {
        self.registered
            .push(Registered::built(None, async move |setup| {
                let (resource, reconciler) = build(setup).await?;
                Ok(Controller::dynamic(resource, reconciler))
            }));
        self
    }

    /// Elects a leader among the processes of this operator with a Lease. Only the leader works. The others keep their
    /// caches full, are ready, and take over when the leader stops or disappears.
    ///
    /// If the program has a command line, that decides. `run` elects with a Lease of the operator's name unless
    /// `--leader-elect=false` is given. The flags `--lease-name`, `--lease-namespace`, `--lease-duration`,
    /// `--renew-deadline` and `--retry-period` have priority over `settings`. `dev` elects only with
    /// `--leader-elect`. `None` turns the default of `run` off. Without a command line, [`run`](Self::run) and
    /// [`start`](Self::start) elect only if `settings` are given here.
    ///
    /// A leader's requests, those of [`Setup::client`] included, are sent only while it leads; before that they pass.
    /// When leadership is lost, all reconciles are cancelled at once and the operator ends with
    /// [`OperatorError::LeadershipLost`]. If work then blocks its thread, the process ends with exit code 3.
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

    /// Runs a task of your own beside the controllers, whether this process leads or not. `run` is called when the
    /// caches are full, except for kinds that the server does not provide. On a stop its token is cancelled, and it gets
    /// the same 25 s as reconciles to end; then it is dropped. It may end earlier.
    ///
    /// If it fails or panics, the operator stops in order and ends with exit code 1.
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

    /// Serves a path of your own on the port of metrics and health. If `path` ends with `/`, the route also gets the requests for
    /// all paths below it. The most specific route counts. The paths of the framework are refused at the start: `/metrics`,
    /// `/healthz`, `/livez`, `/readyz`, `/debug`, and those below them. See [`Route`] for limits and access.
    ///
    /// ```
    /// use pilothouse::{operator::Route, prelude::*, server::Reply};
    ///
    /// let hello = Route::new(|_, request| async move {
    ///     println!("{} with {} bytes", request.method(), request.body().len());
    ///     Ok(Reply::new("hello\n".into()))
    /// });
    /// let operator = Operator::new("website").route("/hello", hello);
    /// # drop(operator);
    /// ```
    pub fn route(mut self, path: impl Into<String>, route: Route) -> Self {
        self.routes.push((path.into(), route));
        self
    }

    /// Adds a check to `/readyz`. A process that is not ready gets no requests from Services, and a rolling update waits for
    /// it. `check` must return at once: it reports what is already known. Names of the framework's checks are refused at the
    /// start. [`Setup::ready_check`] adds a check for something that is built at the start.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// use pilothouse::prelude::*;
    ///
    /// let connected = Arc::new(AtomicBool::new(false));
    /// let seen = connected.clone();
    /// let operator = Operator::new("website").ready_check("registry", move || match seen.load(Ordering::Relaxed) {
    ///     true => Ok(()),
    ///     false => Err("not connected yet".into()),
    /// });
    /// # drop(operator);
    /// ```
    pub fn ready_check(
        self,
        name: impl Into<String>,
        check: impl Fn() -> Health + Send + Sync + 'static,
    ) -> Self {
        self.check_at(HealthEndpoint::Ready, name.into(), check)
    }

    /// As [`ready_check`](Self::ready_check), for `/livez` and `/healthz`. A process that is not live is killed and started
    /// again, so fail only for what a restart repairs, and never because another server does not respond.
    pub fn live_check(
        self,
        name: impl Into<String>,
        check: impl Fn() -> Health + Send + Sync + 'static,
    ) -> Self {
        self.check_at(HealthEndpoint::Live, name.into(), check)
    }

    fn check_at(
        mut self,
        endpoint: HealthEndpoint,
        name: String,
        check: impl Fn() -> Health + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(OwnCheck {
            endpoint,
            name,
            check: Box::new(check),
        });
        self
    }

    /// Adds subcommands of your own beside `run`, `dev`, `crd` and `completions`. `C` is an enum with
    /// `#[derive(clap::Subcommand)]`, and `run` is called with the one on the command line, on a runtime. Each of them also has
    /// the flags `--kubeconfig` and `--context`, for [`CommandSetup::client`]. It logs with the default filter. If it fails, the
    /// program prints the error and ends with exit code 1. A signal drops it, with exit code 130.
    ///
    /// A name that the framework or another subcommand has is an error at the start of the program.
    ///
    /// ```
    /// use pilothouse::{operator::{CommandSetup, clap}, prelude::*};
    /// # struct Website;
    /// # impl Website { async fn broken(_: CommandSetup) -> Result<Vec<String>> { Ok(Vec::new()) } }
    ///
    /// /// Written by hand; `#[derive(clap::Subcommand)]` does the same.
    /// enum Command {
    ///     Broken,
    /// }
    /// # impl clap::FromArgMatches for Command {
    /// #     fn from_arg_matches(_: &clap::ArgMatches) -> Result<Self, clap::Error> { Ok(Self::Broken) }
    /// #     fn update_from_arg_matches(&mut self, _: &clap::ArgMatches) -> Result<(), clap::Error> { Ok(()) }
    /// # }
    /// # impl clap::Subcommand for Command {
    /// #     fn augment_subcommands(command: clap::Command) -> clap::Command {
    /// #         command.subcommand(clap::Command::new("broken").about("Print the sites that do not serve"))
    /// #     }
    /// #     fn augment_subcommands_for_update(command: clap::Command) -> clap::Command { command }
    /// #     fn has_subcommand(name: &str) -> bool { name == "broken" }
    /// # }
    ///
    /// let operator = Operator::new("website").subcommands(async |command, setup| match command {
    ///     Command::Broken => {
    ///         for site in Website::broken(setup).await? {
    ///             println!("{site}");
    ///         }
    ///         Ok(())
    ///     }
    /// });
    /// # drop(operator);
    /// ```
    pub fn subcommands<C, R, F>(mut self, run: R) -> Self
    where
        C: clap::Subcommand + Send + 'static,
        R: FnOnce(C, CommandSetup) -> F + Send + 'static,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        self.subcommands.push(Subcommands::new(run));
        self
    }

    /// Works in one namespace only: requests, lists and watches are limited to it. The flag `--namespace` has priority.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        self.namespaces([namespace])
    }

    /// As [`namespace`](Self::namespace), with several namespaces. Each is listed and watched separately. An empty list
    /// means all namespaces. A forbidden namespace holds back the controllers of its kind, and readiness names it; the
    /// caches meanwhile hold the other namespaces.
    pub fn namespaces<S: Into<String>>(mut self, namespaces: impl IntoIterator<Item = S>) -> Self {
        self.namespaces = namespaces.into_iter().map(Into::into).collect();
        self
    }

    /// Sets options of the caches: transforms, packing, resyncs, and the number of lists that run at the same time.
    /// Several calls add up.
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

    /// Serves `/metrics`, `/healthz`, `/livez` and `/readyz` at this address, over plain HTTP unless
    /// [`serving`](Self::serving) sets something else. If the program has a command line, `--metrics-address` decides;
    /// its default is `:8080`.
    pub fn metrics_address(mut self, address: Address) -> Self {
        self.metrics_address = Some(address);
        self
    }

    /// Sets how metrics and health are served: over HTTP or HTTPS, and metrics to everyone or only to authorized users.
    /// The default is HTTP for everyone. The flags `--metrics-secure`, `--metrics-cert-path` and `--metrics-auth` have
    /// priority.
    pub fn serving(mut self, serving: Serving) -> Self {
        self.serving = serving;
        self
    }

    /// Serves a page at `/debug`, beside the metrics, that shows the current state: controllers, the keys in their queues
    /// with state, deadline and last failure, caches, and objects that cannot be decoded. `/debug/state.json` has the
    /// same as JSON. A click on an object shows its timeline: its last 50 reconciles with their causes, durations, writes and
    /// failures, and its children with their readiness (`/debug/object.json?controller=NAME&key=NAMESPACE/NAME`). For this the operator
    /// records what happens to objects, at most 50 000 records per controller, about 10 MB.
    ///
    /// The page contains names of objects and of their fields, and texts of errors; give access only to users who may see those.
    /// The flag `--debug-page` has priority.
    pub fn debug_page(mut self) -> Self {
        self.debug_page = true;
        self
    }

    /// Also serves the debug page for these host names, such as the name of an Ingress. Without them the page is served
    /// for `localhost`, for loopback addresses and for the address of the listener, so that a web site in a browser cannot
    /// read the page (see [`Hosts`](crate::server::Hosts)). The flag `--debug-host` has priority.
    pub fn debug_hosts<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.debug_hosts = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the version of the program: for the command `version` and the flag `--version`, a label of `pilothouse_build_info`, the
    /// `User-Agent` of requests and a Helm chart.
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

    /// Sets a manifest that `dev` suggests to apply: a path relative to the current folder, or a URL.
    pub fn example(mut self, manifest: impl Into<String>) -> Self {
        self.example = Some(manifest.into());
        self
    }

    /// The operator's metrics. [`Metrics::register`] adds metrics of your own, which `/metrics` shows beside the framework's.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Changes the log filter while the operator runs. It has an effect after the command line has set up the log.
    pub fn log(&self) -> &LogHandle {
        &self.log
    }

    /// The definitions of the reconciled kinds that the API server does not have by itself, in the order of the
    /// controllers, and then those of the other kinds of [admission rules](Self::admission_rule) that the program defines.
    ///
    /// The API server converts the objects of kinds with several versions at the Service that the command `manifests` prints, in the namespace
    /// `<name>-system`, or at the URL of [`WebhookServing::url`]. A running operator corrects that, and adds the `caBundle`.
    ///
    /// # Errors
    /// [`OperatorError::Definition`] if Kubernetes would not accept the schema of a kind's types, and
    /// [`OperatorError::TwoTypes`] if controllers have two types of the same kind: only one of the definitions could be installed.
    pub fn definitions(&self) -> Result<Vec<CustomResourceDefinition>, OperatorError> {
        let own = self.own_definitions()?.into_iter();
        Ok(own.map(|own| own.definition).collect())
    }

    /// As [`definitions`](Self::definitions), each with its Rust type.
    pub(super) fn own_definitions(&self) -> Result<Vec<OwnDefinition>, OperatorError> {
        self.check_types()?;
        let mut names = BTreeSet::new();
        let mut definitions = Vec::new();
        for registered in &self.registered {
            let Some(definition) = registered.definition() else {
                continue;
            };
            let mut definition = definition.map_err(OperatorError::Definition)?;
            let target = self.conversion_target();
            webhook::set_target(std::slice::from_mut(&mut definition), &target);
            if names.insert(definition.metadata.name.clone()) {
                definitions.push(OwnDefinition {
                    definition,
                    rust_type: registered.rust_type().1,
                    places: registered.rule_places(),
                });
            }
        }
        for mut own in self.kinds_of_rules()? {
            if names.insert(own.definition.metadata.name.clone()) {
                let target = self.conversion_target();
                webhook::set_target(std::slice::from_mut(&mut own.definition), &target);
                definitions.push(own);
            }
        }
        Ok(definitions)
    }

    /// Installs the definitions and waits until the server serves their kinds. Then it installs the
    /// [admission rules](Self::admission_rule), and removes those that the program does not have any more, if it has any. A real API server
    /// needs about a second until it evaluates a new rule.
    ///
    /// # Errors
    /// [`OperatorError::Definition`] if a definition cannot be created, [`OperatorError::Refused`] if the server does not accept a field of it, and
    /// [`OperatorError::Install`] if the server refuses it for another reason, or does not serve it in time.
    /// [`OperatorError::AdmissionRule`] and [`OperatorError::RefusedRules`] if a rule is not valid, and [`OperatorError::RuleNotServed`] if the
    /// server is too old for it.
    pub fn install<'a>(
        &self,
        client: &'a Client,
    ) -> impl Future<Output = Result<(), OperatorError>> + Send + use<'a> {
        // `self` is not held while this waits, because threads cannot share the functions that build reconcilers.
        let (own, name) = (self.own_definitions(), self.name.clone());
        let checked = self.check_rules().and_then(|()| self.checked_rules());
        let rules = checked.and_then(|_| self.policies());
        async move {
            let (own, rules) = (own?, rules?);
            let definitions: Vec<_> = own.iter().map(|one| one.definition.clone()).collect();
            let installed = crd::install(client, &definitions, &name).await;
            installed.map_err(|error| definition_check::explained(&own, error))?;
            if !rules.is_empty() {
                rules.apply(client).await?;
                rules.prune(client).await?;
            }
            Ok(())
        }
    }

    /// The kinds that the operator defines itself, for messages.
    pub(super) fn own_kinds(&self) -> OwnKinds {
        OwnKinds {
            operator: self.name.clone(),
            names: self
                .registered
                .iter()
                .filter(|registered| registered.definition().is_some())
                .filter_map(|registered| Some(registered.resource()?.qualified_plural()))
                .collect(),
            reconciled: BTreeSet::new(),
            converted: self
                .served_conversions()
                .iter()
                .map(|kind| kind.stored().qualified_plural())
                .collect(),
        }
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registered = self.registered.iter();
        let kinds: Vec<_> = registered.map(|one| one.resource()).collect();
        f.debug_struct("Operator")
            .field("name", &self.name)
            .field("kinds", &kinds)
            .finish_non_exhaustive()
    }
}
