use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::Instant;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    Operator, OperatorError, Serving, Setup,
    debug::{DebugPage, DebugReport},
    leadership::{LeaderContext, Leadership},
    own_checks::{self, HealthEndpoint},
    readiness::Readiness,
    registration::{BuildContext, DeclaredController},
    route,
    runnable::RunnableContext,
    shutdown_cause::ShutdownCause,
    webhooks::RunningWebhooks,
    work_tasks::WorkTasks,
};
use crate::{
    cache::{InformerScope, Informers},
    client::Client,
    controller::{AccessUse, Environment, ObjectReport},
    election::ElectionStatus,
    events::Recorder,
    health::Checks,
    metrics::Metrics,
    resource::{Access, ApiResource, ObjectKey, check_qualified_name, dns},
    server::{Address, Reviewer, Routes, Server},
    webhook::ReadCaches,
};

/// A running operator. Dropping it cancels everything at once; [`stop`](Self::stop) ends it in order.
#[must_use = "dropping it cancels everything"]
pub struct Running {
    metrics: Metrics,
    live: Checks,
    ready: Checks,
    http: Option<SocketAddr>,
    /// Whether requests for metrics are reviewed by the API server.
    is_authorized: bool,
    pub(super) informers: Informers,
    pub(super) readiness: Readiness,
    /// The kinds that the controllers watch.
    pub(super) kinds: Vec<ApiResource>,
    access: Vec<(Access, AccessUse)>,
    /// The access that no controller declares.
    more_access: Access,
    pub(super) shutdown_cause: ShutdownCause,
    pub(super) leadership: Option<Leadership>,
    pub(super) webhooks: Option<RunningWebhooks>,
    /// Cancelled when the operator begins to stop.
    pub(super) stopping: CancellationToken,
    started: Instant,
    /// Cancelled when no reconcile may start any more.
    pub(super) closing: CancellationToken,
    /// Cancelled when running reconciles are to be dropped.
    pub(super) abort: CancellationToken,
    /// The controllers and the user's runnables.
    pub(super) work: TaskTracker,
    /// The same tasks by name.
    pub(super) tasks: WorkTasks,
    pub(super) events: Recorder,
    /// Cancelled when the listener and the other services are to end.
    pub(super) stop_services: CancellationToken,
    pub(super) services: TaskTracker,
    _all: DropGuard,
}

impl Operator {
    /// Runs until `cancel`, then stops in order; see the [module's page](super). All requests go through `client`.
    ///
    /// # Errors
    /// At the start: an [`OperatorError`] that names what is missing. Later: [`OperatorError::LeadershipLost`],
    /// [`OperatorError::Runnable`] or [`OperatorError::Task`] if a runnable or a background task failed, and
    /// [`OperatorError::Overtime`] if work did not end in time. Other failures are retried, logged and counted. A
    /// process should end with [`OperatorError::exit_code`].
    pub async fn run(self, client: Client, cancel: CancellationToken) -> Result<(), OperatorError> {
        tokio::select! {
            running = self.start(client) => {
                running?.run_until(cancel.clone()).await
            }
            // Everything that was started ends with the guards in the dropped future.
            () = cancel.cancelled() => Ok(()),
        }
    }

    /// Starts everything and returns. The caches may not have synced yet.
    ///
    /// # Errors
    /// The errors of the start, as of [`run`](Self::run).
    pub async fn start(self, client: Client) -> Result<Running, OperatorError> {
        Running::start(self, client).await
    }
}

impl Running {
    /// Starts in order: the listener first, so that the rest of the start can be inspected; then the caches; then the
    /// election. Each controller waits for its caches.
    ///
    /// The future is boxed, so that the crates that await it do not compile it again.
    pub(super) fn start(
        operator: Operator,
        client: Client,
    ) -> BoxFuture<'static, Result<Self, OperatorError>> {
        Box::pin(Self::start_in_order(operator, client))
    }

    async fn start_in_order(mut operator: Operator, client: Client) -> Result<Self, OperatorError> {
        operator.check()?;
        check_namespaces(&operator.namespaces)?;
        let all = CancellationToken::new();
        let election = operator.election.take();
        let leadership = election
            .map(|settings| Leadership::new(&client, settings, &operator.metrics, &operator.name))
            .transpose()?;
        let leadership_gate = leadership
            .as_ref()
            .map(|leadership| leadership.leadership_gate.clone());
        let client = match operator.namespaces.is_empty() {
            true => client.in_all_namespaces(),
            false => client,
        };
        let webhooks = operator.webhook_options(client.default_namespace());
        // For everything that must send nothing after this process has lost the leadership.
        let fenced = leadership_gate
            .as_ref()
            .map(|leadership_gate| leadership_gate.fence(&client));
        let fenced = fenced.unwrap_or_else(|| client.clone());
        let events = Recorder::with_metrics(&fenced, &operator.name, &operator.metrics);
        let builder = Informers::builder(client.clone(), operator.metrics.clone());
        let options = std::mem::take(&mut operator.informers).into_iter();
        let builder = options.fold(builder, |builder, options| options(builder));
        let informers = builder.events(events.clone()).build();
        if operator.ends_process {
            informers.keep_until_exit();
        }
        let version = operator.version.as_deref().unwrap_or_default();
        operator.metrics.build_info(&operator.name, version);
        let mut running = Self {
            metrics: operator.metrics.clone(),
            live: Checks::new("livez"),
            ready: Checks::new("readyz"),
            http: None,
            is_authorized: false,
            readiness: Readiness {
                own_kinds: operator.own_kinds(),
                informers: informers.clone(),
                controllers: Vec::new(),
            },
            informers,
            kinds: Vec::new(),
            access: Vec::new(),
            more_access: operator.access.more(),
            shutdown_cause: ShutdownCause::new(operator.metrics.clone()),
            leadership,
            webhooks: None,
            stopping: operator.stopping.clone(),
            started: Instant::now(),
            closing: all.child_token(),
            abort: all.child_token(),
            work: TaskTracker::new(),
            tasks: WorkTasks::default(),
            events,
            stop_services: all.child_token(),
            services: TaskTracker::new(),
            _all: all.clone().drop_guard(),
        };
        running.live.add("ping", || Ok(()));
        let closing = running.closing.clone();
        running.ready.add("running", move || {
            if closing.is_cancelled() {
                Err("the operator is stopping".into())
            } else {
                Ok(())
            }
        });
        let built = running.check_controllers();
        if let Some(leadership) = &running.leadership {
            leadership.add_checks(&running.ready, &running.live, &running.work);
        }
        let debug = operator
            .debug_page
            .then(|| DebugPage::new(&running.ready, running.started, &operator.debug_hosts));
        for one in std::mem::take(&mut operator.checks) {
            let checks = match one.endpoint {
                HealthEndpoint::Live => &running.live,
                HealthEndpoint::Ready => &running.ready,
            };
            own_checks::add(checks, one.endpoint, one.name, one.check)?;
        }
        let unfenced = Setup {
            client: client.clone(),
            metrics: operator.metrics.clone(),
            namespaces: operator.namespaces.clone(),
            flags: operator.flags,
            log: operator.log,
            live: running.live.clone(),
            ready: running.ready.clone(),
        };
        let (address, serving) = (operator.metrics_address, &operator.serving);
        let routes = OwnRoutes::new(operator.routes, &unfenced);
        running
            .listen(address, serving, &client, debug.clone(), routes)
            .await?;

        let mut kinds = BTreeSet::new();
        if let Some(mut options) = webhooks {
            let scope = InformerScope::all().namespaces(&operator.namespaces);
            for webhook in &options.webhooks {
                if webhook.is_never_called(&options.namespace, &options.namespaces) {
                    tracing::warn!(
                        "the webhook {} is never called: the operator works only in its own namespace, and that is left out",
                        webhook.name()
                    );
                }
            }
            options.caches = ReadCaches::of(&options.webhooks, &running.informers, &scope);
            let read = options.webhooks.iter().flat_map(|one| one.reads.kinds());
            kinds.extend(read.cloned());
            let started = RunningWebhooks::start(
                options,
                &client,
                &operator.metrics,
                &running.ready,
                &running.shutdown_cause,
                running.stopping.clone(),
                all.child_token(),
            );
            running.webhooks = Some(started.await?);
        }
        let setup = Setup {
            client: fenced.clone(),
            ..unfenced.clone()
        };
        let context = BuildContext {
            environment: Environment {
                namespaces: operator.namespaces,
                events: running.events.clone(),
                leadership_gate: leadership_gate.clone(),
                abort: running.abort.clone(),
                ..Environment::new(
                    running.informers.clone(),
                    fenced,
                    operator.metrics,
                    operator.name,
                )
            },
            setup: setup.clone(),
            closing: running.closing.clone(),
        };
        let mut controllers = Vec::new();
        let mut declared_by_built = BTreeMap::<_, DeclaredController>::new();
        for registered in operator.registered {
            let built = registered.build(context.clone()).await?;
            let mut others = running.readiness.controllers.iter();
            if others.any(|other| other.name() == built.status.name()) {
                let name = built.status.name().to_owned();
                return Err(OperatorError::SameName { name });
            }
            running.readiness.controllers.push(built.status.clone());
            if built.is_built {
                declared_by_built
                    .entry(built.resource.clone())
                    .and_modify(|others| others.merge(&built.declared))
                    .or_insert_with(|| built.declared.clone());
            }
            running
                .access
                .push((built.declared.access, built.access_use));
            let reconciled = &mut running.readiness.own_kinds.reconciled;
            reconciled.insert(built.resource.qualified_plural());
            kinds.extend(built.wired);
            if debug.is_some() {
                built.status.keep_history();
            }
            controllers.push((built.status, built.work));
        }
        operator.access.check(&declared_by_built)?;
        running.kinds = kinds.iter().cloned().collect();
        running.readiness.add_checks(&running.ready, kinds);
        // This is the only call of `set`.
        let _ = built.set(running.readiness.clone());
        if let Some(debug) = debug {
            debug.set_readiness(running.readiness.clone());
        }
        running.events.start(&all);
        running.informers.start(&all);
        let (shutdown_cause, work) = (running.shutdown_cause.clone(), running.work.clone());
        for (status, controller) in controllers {
            let name = format!("controller {}", status.name());
            let task = shutdown_cause.spawn(&work, "controller", &name, controller);
            running.tasks.add(name, Some(status), &task);
        }
        for runnable in operator.runnables {
            let name = format!("runnable {}", runnable.name);
            let context = RunnableContext {
                readiness: running.readiness.clone(),
                leadership_gate: leadership_gate.clone(),
                closing: running.closing.clone(),
                abort: running.abort.clone(),
                shutdown_cause: shutdown_cause.clone(),
            };
            let setup = match runnable.leads {
                true => setup.clone(),
                false => unfenced.clone(),
            };
            let task = runnable.run(setup, context).boxed();
            let task = shutdown_cause.spawn(&work, "runnable", &name, task);
            running.tasks.add(name, None, &task);
        }
        work.close();
        running.start_supervision(&all);
        Ok(running)
    }

    /// Starts the tasks that supervise the work.
    fn start_supervision(&mut self, all: &CancellationToken) {
        let (shutdown_cause, others) = (&self.shutdown_cause, &self.services);
        if let Some(leadership) = &mut self.leadership {
            let context = LeaderContext {
                readiness: self.readiness.clone(),
                events: self.events.clone(),
                shutdown_cause: shutdown_cause.clone(),
                work: self.work.clone(),
                closing: self.closing.clone(),
                abort: self.abort.clone(),
                all: all.clone(),
            };
            // This task ends after the other services, and is joined separately.
            leadership.start(context, &TaskTracker::new());
        }
        let watched = [
            ("events", self.events.task_monitor()),
            ("informer", self.informers.task_monitor()),
        ];
        for (name, task_monitor) in watched {
            shutdown_cause.watch(
                others,
                name,
                task_monitor.clone(),
                self.stop_services.clone(),
            );
        }
        let (readiness, end) = (self.readiness.clone(), self.stop_services.clone());
        let logging = async move { readiness.log_missing_kinds(&end).await };
        shutdown_cause.spawn(others, "readiness", "readiness", logging.boxed());
        others.close();
    }

    /// Adds a readiness check that fails until every controller has its caches. Before all reconcilers are built, their
    /// needs are not known.
    fn check_controllers(&self) -> Arc<OnceLock<Readiness>> {
        let built = Arc::new(OnceLock::<Readiness>::new());
        let seen = built.clone();
        self.ready.add("controllers", move || match seen.get() {
            Some(readiness) => readiness.check_controllers(),
            None => Err("the reconcilers are being built".into()),
        });
        built
    }

    async fn listen(
        &mut self,
        address: Option<Address>,
        serving: &Serving,
        client: &Client,
        debug: Option<DebugPage>,
        own: OwnRoutes,
    ) -> Result<(), OperatorError> {
        let Some(address) = address else {
            if !own.paths.is_empty() {
                let paths = own.paths.join(", ");
                tracing::warn!(
                    "there is no address for metrics and health, so these routes are not served either: {paths}"
                );
            }
            return Ok(());
        };
        let failed = |source| OperatorError::Listen { address, source };
        let tls = serving.tls(&self.metrics).await?;
        let mut server = Server::bind(&address).await.map_err(failed)?;
        let http = server.local_addr().map_err(failed)?;
        if tls.is_none() && serving.is_authorized() {
            tracing::warn!(
                "metrics require a bearer token, but plain HTTP sends it unencrypted: serve HTTPS"
            );
        }
        if let Some(tls) = tls {
            server = server.tls(tls);
        }
        let health = Routes::new()
            .health("/healthz", self.live.clone())
            .health("/livez", self.live.clone())
            .health("/readyz", self.ready.clone());
        let shown = Routes::new().metrics("/metrics", self.metrics.clone());
        let shown = match debug {
            Some(debug) => debug.serve(shown, http),
            None => shown,
        };
        self.is_authorized = serving.is_authorized();
        // An open route must not hide a more specific one, so the routes keep their order.
        let reviewer = self.is_authorized.then(|| Reviewer::new(client.clone()));
        let reviewed = |routes: Routes, more| match &reviewer {
            Some(reviewer) => routes.protected(reviewer, more),
            None => routes.and(more),
        };
        let routes =
            own.routes
                .into_iter()
                .fold(
                    reviewed(health, shown),
                    |routes, (is_open, own)| match is_open {
                        true => routes.and(own),
                        false => reviewed(routes, own),
                    },
                );
        let served = server.run(routes, self.stop_services.clone()).boxed();
        // The tracker joins the task.
        drop(
            self.shutdown_cause
                .spawn(&self.services, "listener", "listener", served),
        );
        self.http = Some(http);
        tracing::info!("metrics and health on {serving}://{http}");
        Ok(())
    }

    /// The operator's metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The checks behind `/healthz` and `/livez`. Add checks of your own.
    pub fn live(&self) -> &Checks {
        &self.live
    }

    /// The checks behind `/readyz`. Add checks of your own.
    pub fn ready(&self) -> &Checks {
        &self.ready
    }

    /// The address of the metrics and health endpoints, if they are served.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    /// The address of the webhooks. `None` if there are none, or if the `Cluster` of a test calls them in this
    /// process.
    pub fn webhook_address(&self) -> Option<SocketAddr> {
        self.webhooks.as_ref()?.address
    }

    /// The current state, for people. It is the content of the page of [`Operator::debug_page`].
    pub fn debug_report(&self) -> DebugReport {
        DebugReport::of(&self.readiness, &self.ready, self.started.elapsed())
    }

    /// What happened to one object of a controller, and what happens with it now. Returns `None` if no controller of that name
    /// runs. Reconciles are recorded only if [`Operator::debug_page`] is called.
    pub fn object_report(&self, controller: &str, key: &ObjectKey) -> Option<ObjectReport> {
        let mut controllers = self.readiness.controllers.iter();
        let controller = controllers.find(|one| one.name() == controller);
        controller?.object(key)
    }

    /// The permissions that the program needs: those that its controllers and [`Operator::access`] declare, and those for
    /// Events, for the election and for reviews. The commands `rbac` and `manifests` print roles with the same permissions.
    pub fn access(&self) -> Access {
        let controllers = self.access.iter().map(|(access, _)| access.clone());
        let election = self.leadership.as_ref().map(|one| one.access.clone());
        let reviews = self.is_authorized.then(Reviewer::access);
        let webhooks = self.webhooks.iter().map(|webhooks| webhooks.access.clone());
        let more = [self.more_access.clone()].into_iter().chain(webhooks);
        controllers.chain(more).chain(election).chain(reviews).sum()
    }

    /// The declared permissions that their controller has not used since the start. After a complete test suite, remove
    /// them from `wire`. See [`AccessGuard::unused`](crate::client::AccessGuard::unused).
    pub fn unused_access(&self) -> Access {
        self.access.iter().map(|(_, used)| used.unused()).sum()
    }

    /// The status of the leader election, if there is one.
    pub fn election(&self) -> Option<&ElectionStatus> {
        Some(&self.leadership.as_ref()?.status)
    }

    /// Waits until the caches of every controller have synced and each controller works or stands by. A kind that is
    /// forbidden or not served makes it wait for ever; readiness names the kind.
    pub async fn synced(&self) {
        self.readiness.controllers_working().await;
    }

    /// Works until `cancel`, or until a failure, and then stops in order.
    ///
    /// # Errors
    /// The failure: [`OperatorError::LeadershipLost`], [`OperatorError::Task`] or [`OperatorError::Runnable`]. Or
    /// [`OperatorError::Overtime`] if work did not end in time.
    pub async fn run_until(self, cancel: CancellationToken) -> Result<(), OperatorError> {
        // Losing a branch is safe: both tokens stay cancelled.
        tokio::select! {
            () = cancel.cancelled() => {}
            () = self.shutdown_cause.reported().cancelled() => {}
        }
        self.finish().await
    }

    /// Stops in order: not ready; no new reconcile; running reconciles get 25 s and are then dropped; unsent Events get
    /// 2 s; caches; listener; the Lease. It logs the error that [`run_until`](Self::run_until) would return.
    pub async fn stop(self) {
        if let Err(error) = self.finish().await {
            tracing::error!("{error}");
        }
    }
}

/// The routes of the program's own.
struct OwnRoutes {
    paths: Vec<String>,
    /// Each route and whether it is open, most specific first.
    routes: Vec<(bool, Routes)>,
}

impl OwnRoutes {
    fn new(mut routes: Vec<(String, route::Route)>, setup: &Setup) -> Self {
        route::most_specific_first(&mut routes);
        Self {
            paths: routes.iter().map(|(path, _)| path.clone()).collect(),
            routes: routes
                .into_iter()
                .map(|(path, route)| (route.is_open, route.at(&path, setup.clone())))
                .collect(),
        }
    }
}

/// The name is a field manager, a part of the names of controllers in Events, and usually the name of the Lease.
pub(super) fn check_name(name: &str) -> Result<(), OperatorError> {
    check_qualified_name(name).map_err(|problem| OperatorError::Name {
        name: name.to_owned(),
        problem: problem.to_owned(),
    })
}

/// Checks names that the program set itself. The command line checks those of its flags.
fn check_namespaces(names: &BTreeSet<String>) -> Result<(), OperatorError> {
    names.iter().try_for_each(|name| {
        dns::check_label(name).map_err(|rule| OperatorError::Namespace {
            name: name.clone(),
            rule: format!("the name of a namespace {rule}"),
        })
    })
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("http", &self.http)
            .field("kinds", &self.kinds)
            .field("informers", &self.informers)
            .finish_non_exhaustive()
    }
}
