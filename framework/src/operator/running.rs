use std::{collections::BTreeSet, fmt, net::SocketAddr};

use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    Operator, OperatorError, Serving, Setup,
    debug::{Debug, DebugReport},
    leadership::{Leadership, Led},
    readiness::Readiness,
    registration::Surroundings,
    runnable::Span,
    trouble::Trouble,
};
use crate::{
    cache::Informers,
    client::Client,
    controller::{AccessUse, Environment},
    election::ElectionStatus,
    events::Recorder,
    health::Checks,
    metrics::Metrics,
    resource::Access,
    server::{Address, Reviewer, Routes, Server},
};

/// An operator at work. Dropping it cancels everything at once; [`stop`](Self::stop) ends it in order.
#[must_use = "dropping it cancels everything"]
pub struct Running {
    metrics: Metrics,
    live: Checks,
    ready: Checks,
    http: Option<SocketAddr>,
    /// Who reads metrics is asked about.
    is_authorized: bool,
    pub(super) informers: Informers,
    readiness: Readiness,
    access: Vec<(Access, AccessUse)>,
    pub(super) trouble: Trouble,
    pub(super) leadership: Option<Leadership>,
    /// It begins to stop.
    pub(super) stopping: CancellationToken,
    started: Instant,
    /// No reconcile starts any more.
    pub(super) closing: CancellationToken,
    /// Reconciles that run are dropped.
    pub(super) abort: CancellationToken,
    /// The controllers, and the user's runnables.
    pub(super) work: TaskTracker,
    pub(super) events: Recorder,
    /// The listener ends, and what else is no work.
    pub(super) end: CancellationToken,
    pub(super) others: TaskTracker,
    _all: DropGuard,
}

impl Running {
    /// Listener first, so that it can be seen how the rest starts; then caches, then the election; controllers wait
    /// for theirs.
    pub(super) async fn start(
        mut operator: Operator,
        client: Client,
    ) -> Result<Self, OperatorError> {
        let all = CancellationToken::new();
        let election = operator.election.take();
        let leadership = election
            .map(|settings| Leadership::new(&client, settings, &operator.metrics, &operator.name))
            .transpose()?;
        let turn = leadership
            .as_ref()
            .map(|leadership| leadership.turn.clone());
        // For all that must be silent once this process led and does not any more.
        let fenced = turn.as_ref().map(|turn| turn.fence(&client));
        let fenced = fenced.unwrap_or_else(|| client.clone());
        let events = Recorder::with_metrics(&fenced, &operator.name, operator.metrics.events());
        let builder = Informers::builder(client.clone(), operator.metrics.clone());
        let options = std::mem::take(&mut operator.informers).into_iter();
        let builder = options.fold(builder, |builder, options| options(builder));
        let informers = builder.events(events.clone()).build();
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
            access: Vec::new(),
            trouble: Trouble::new(operator.metrics.clone()),
            leadership,
            stopping: operator.stopping.clone(),
            started: Instant::now(),
            closing: all.child_token(),
            abort: all.child_token(),
            work: TaskTracker::new(),
            events,
            end: all.child_token(),
            others: TaskTracker::new(),
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
        let starting = running.check_start();
        if let Some(leadership) = &running.leadership {
            leadership.add_checks(&running.ready, &running.live, &running.work);
        }
        let debug = operator
            .debug_page
            .then(|| Debug::new(&running.ready, running.started));
        let (address, serving) = (operator.metrics_address, &operator.serving);
        running
            .listen(address, serving, &client, debug.clone())
            .await?;

        let setup = Setup {
            client: fenced.clone(),
            metrics: operator.metrics.clone(),
            namespaces: operator.namespaces.clone(),
            flags: operator.flags,
            log: operator.log,
        };
        let surroundings = Surroundings {
            environment: Environment {
                namespaces: operator.namespaces,
                events: running.events.clone(),
                turn: turn.clone(),
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
        let mut kinds = BTreeSet::new();
        for registered in operator.registered {
            let built = registered.build(surroundings.clone()).await?;
            let mut others = running.readiness.controllers.iter();
            if others.any(|other| other.name() == built.status.name()) {
                let name = built.status.name().to_owned();
                return Err(OperatorError::SameName { name });
            }
            running.readiness.controllers.push(built.status.clone());
            running.access.push((built.access, built.access_use));
            kinds.extend(built.wired);
            controllers.push((built.status, built.work));
        }
        running.readiness.add_checks(&running.ready, kinds);
        if let Some(debug) = debug {
            debug.shows(running.readiness.clone());
        }
        starting.cancel();
        running.events.start(&all);
        running.informers.start(&all);
        let (trouble, work) = (running.trouble.clone(), running.work.clone());
        for (status, controller) in controllers {
            let name = format!("controller {}", status.name());
            trouble.spawn(&work, "controller", &name, controller);
        }
        for runnable in operator.runnables {
            let name = format!("runnable {}", runnable.name);
            let span = Span {
                readiness: running.readiness.clone(),
                turn: turn.clone(),
                closing: running.closing.clone(),
                abort: running.abort.clone(),
                trouble: trouble.clone(),
            };
            let mut setup = setup.clone();
            if !runnable.leads {
                setup.client = client.clone();
            }
            trouble.spawn(&work, "runnable", &name, runnable.run(setup, span).boxed());
        }
        work.close();
        running.watch_over(&all);
        Ok(running)
    }

    /// Whatever is no work itself.
    fn watch_over(&mut self, all: &CancellationToken) {
        let (trouble, others) = (&self.trouble, &self.others);
        if let Some(leadership) = &mut self.leadership {
            let led = Led {
                readiness: self.readiness.clone(),
                events: self.events.clone(),
                trouble: trouble.clone(),
                work: self.work.clone(),
                closing: self.closing.clone(),
                abort: self.abort.clone(),
                all: all.clone(),
            };
            // It outlives the others, and is joined by itself.
            leadership.start(led, &TaskTracker::new());
        }
        let watched = [
            ("events", self.events.lifeline()),
            ("informer", self.informers.lifeline()),
        ];
        for (name, lifeline) in watched {
            trouble.watch(others, name, lifeline.clone(), self.end.clone());
        }
        let (readiness, end) = (self.readiness.clone(), self.end.clone());
        let told = async move { readiness.tell(&end).await };
        trouble.spawn(others, "readiness", "readiness", told.boxed());
        others.close();
    }

    /// Not ready before every reconciler was built: until then nothing is known of what they need.
    fn check_start(&self) -> CancellationToken {
        let started = CancellationToken::new();
        let seen = started.clone();
        self.ready.add("controllers", move || {
            if seen.is_cancelled() {
                Ok(())
            } else {
                Err("the reconcilers are being built".into())
            }
        });
        started
    }

    async fn listen(
        &mut self,
        address: Option<Address>,
        serving: &Serving,
        client: &Client,
        debug: Option<Debug>,
    ) -> Result<(), OperatorError> {
        let Some(address) = address else {
            return Ok(());
        };
        let failed = |source| OperatorError::Listen { address, source };
        let tls = serving.tls(&self.metrics).await?;
        let mut server = Server::bind(&address).await.map_err(failed)?;
        let http = server.local_addr().map_err(failed)?;
        if tls.is_none() && serving.is_authorized() {
            tracing::warn!(
                "who reads metrics shows a bearer token, and it comes over plain HTTP: serve HTTPS"
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
            Some(debug) => debug.serve(shown),
            None => shown,
        };
        self.is_authorized = serving.is_authorized();
        let routes = match self.is_authorized {
            true => health.protected(&Reviewer::new(client.clone()), shown),
            false => health.and(shown),
        };
        let served = server.run(routes, self.end.clone()).boxed();
        // The tracker joins it.
        drop(
            self.trouble
                .spawn(&self.others, "listener", "listener", served),
        );
        self.http = Some(http);
        tracing::info!("metrics and health on {serving}://{http}");
        Ok(())
    }

    /// The operator's metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The checks behind `/healthz` and `/livez`, to add one's own.
    pub fn live(&self) -> &Checks {
        &self.live
    }

    /// The checks behind `/readyz`, to add one's own.
    pub fn ready(&self) -> &Checks {
        &self.ready
    }

    /// Where metrics and health are served, if they are.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    /// What it does just now, for people to look at; what [`Operator::debug_page`] shows.
    pub fn debug_report(&self) -> DebugReport {
        DebugReport::of(&self.readiness, &self.ready, self.started.elapsed())
    }

    /// All that its controllers declare they do, and what recording events takes: what the program has to be allowed.
    pub fn access(&self) -> Access {
        let controllers = self.access.iter().map(|(access, _)| access.clone());
        let controllers = controllers.chain(self.is_authorized.then(Reviewer::access));
        let election = self.leadership.iter().map(|one| one.access.clone());
        let events = [Recorder::access()];
        controllers.chain(election).chain(events).sum()
    }

    /// What was declared and not used by the controller that declared it, since the start; a test suite that has
    /// gone through everything finds here what to take out of `wire`. See
    /// [`AccessGuard::unused`](crate::client::AccessGuard::unused).
    pub fn unused_access(&self) -> Access {
        self.access.iter().map(|(_, used)| used.unused()).sum()
    }

    /// How the election is doing, if there is one.
    pub fn election(&self) -> Option<&ElectionStatus> {
        Some(&self.leadership.as_ref()?.status)
    }

    /// Waits until the caches of every controller have synced and each works, or stands by. A kind that is not
    /// served, or forbidden, makes it wait for ever; readiness tells which.
    pub async fn synced(&self) {
        self.readiness.working().await;
    }

    /// Works until `cancel`, or until it cannot go on, and stops in order.
    ///
    /// # Errors
    /// Why it could not go on: leadership was lost, a background task or a runnable failed. Or work did not end
    /// when it had to.
    pub async fn run_until(self, cancel: CancellationToken) -> Result<(), OperatorError> {
        // Losing either is safe: both stay cancelled.
        tokio::select! {
            () = cancel.cancelled() => {}
            () = self.trouble.reported().cancelled() => {}
        }
        self.finish().await
    }

    /// Stops in order: not ready; no new reconcile; those that run get 25 s and are dropped then; events that
    /// are unsent get 2 s; caches; listener; the lease. What [`run_until`](Self::run_until) would fail with is logged.
    pub async fn stop(self) {
        if let Err(error) = self.finish().await {
            tracing::error!("{error}");
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("http", &self.http)
            .field("informers", &self.informers)
            .finish_non_exhaustive()
    }
}
