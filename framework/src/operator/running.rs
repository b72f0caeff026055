use std::{collections::BTreeSet, fmt, net::SocketAddr, time::Duration};

use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{Operator, OperatorError, Setup, readiness::Readiness, registration::Surroundings};
use crate::{
    cache::Informers,
    client::Client,
    controller::{AccessUse, Environment},
    events::Recorder,
    health::Checks,
    metrics::Metrics,
    resource::Access,
    server::{Address, Routes, Server},
};

/// How long reconciles that run may take to end once the operator stops.
const GRACE: Duration = Duration::from_secs(25);

/// How long the events that are unsent then may take, so that the process ends 29 s after it was told to.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// An operator at work. Dropping it cancels everything at once; [`stop`](Self::stop) ends it in order.
#[must_use = "dropping it cancels everything"]
pub struct Running {
    metrics: Metrics,
    live: Checks,
    ready: Checks,
    http: Option<SocketAddr>,
    informers: Informers,
    readiness: Readiness,
    access: Vec<(Access, AccessUse)>,
    /// No reconcile starts any more.
    closing: CancellationToken,
    /// Reconciles that run are dropped.
    cancel: CancellationToken,
    controllers: TaskTracker,
    events: Recorder,
    /// The listener ends, and what else is no controller.
    end: CancellationToken,
    others: TaskTracker,
    _all: DropGuard,
}

impl Running {
    /// Listener first, so that it can be seen how the rest starts; then caches; controllers wait for theirs.
    pub(super) async fn start(
        mut operator: Operator,
        client: Client,
    ) -> Result<Self, OperatorError> {
        let all = CancellationToken::new();
        let events = Recorder::with_metrics(&client, &operator.name, operator.metrics.events());
        let builder = Informers::builder(client.clone(), operator.metrics.clone());
        let options = std::mem::take(&mut operator.informers).into_iter();
        let builder = options.fold(builder, |builder, options| options(builder));
        let informers = builder.events(events.clone()).build();
        let mut running = Self {
            metrics: operator.metrics.clone(),
            live: Checks::new("livez"),
            ready: Checks::new("readyz"),
            http: None,
            readiness: Readiness {
                own_kinds: operator.own_kinds(),
                informers: informers.clone(),
                controllers: Vec::new(),
            },
            informers,
            access: Vec::new(),
            closing: all.child_token(),
            cancel: all.child_token(),
            controllers: TaskTracker::new(),
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
        running.listen(operator.metrics_address).await?;

        let surroundings = Surroundings {
            environment: Environment {
                namespaces: operator.namespaces.clone(),
                events: running.events.clone(),
                ..Environment::new(
                    running.informers.clone(),
                    client.clone(),
                    operator.metrics.clone(),
                    operator.name,
                )
            },
            setup: Setup {
                client,
                metrics: operator.metrics,
                namespaces: operator.namespaces,
                flags: operator.flags,
            },
            closing: running.closing.clone(),
            cancel: running.cancel.clone(),
        };
        let mut work = Vec::new();
        let mut kinds = BTreeSet::new();
        for registered in operator.registered {
            let built = registered.build(surroundings.clone()).await?;
            running.readiness.controllers.push(built.status);
            running.access.push((built.access, built.access_use));
            kinds.extend(built.wired);
            work.push(built.work);
        }
        running.readiness.add_checks(&running.ready, kinds);
        starting.cancel();
        running.events.start(&all);
        running.informers.start(&all);
        for controller in work {
            running.controllers.spawn(controller);
        }
        let (readiness, end) = (running.readiness.clone(), running.end.clone());
        running
            .others
            .spawn(async move { readiness.tell(&end).await });
        Ok(running)
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

    async fn listen(&mut self, address: Option<Address>) -> Result<(), OperatorError> {
        let Some(address) = address else {
            return Ok(());
        };
        let failed = |source| OperatorError::Listen { address, source };
        let server = Server::bind(&address).await.map_err(failed)?;
        let http = server.local_addr().map_err(failed)?;
        let routes = Routes::new()
            .metrics("/metrics", self.metrics.clone())
            .health("/healthz", self.live.clone())
            .health("/livez", self.live.clone())
            .health("/readyz", self.ready.clone());
        self.others.spawn(server.run(routes, self.end.clone()));
        self.http = Some(http);
        tracing::info!("metrics and health on http://{http}");
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

    /// All that its controllers declare they do, and what recording events takes: what the program has to be allowed.
    pub fn access(&self) -> Access {
        let controllers = self.access.iter().map(|(access, _)| access.clone());
        controllers.chain([Recorder::access()]).sum()
    }

    /// What was declared and not used by the controller that declared it, since the start; a test suite that has
    /// gone through everything finds here what to take out of `wire`. See
    /// [`AccessGuard::unused`](crate::client::AccessGuard::unused).
    pub fn unused_access(&self) -> Access {
        self.access.iter().map(|(_, used)| used.unused()).sum()
    }

    /// Waits until every controller works. A kind that is not served, or forbidden, makes it wait for ever; readiness
    /// tells which.
    pub async fn synced(&self) {
        self.readiness.working().await;
    }

    /// Stops in order: not ready; no new reconcile; those that run get 25 s and are dropped then; events that
    /// are unsent get 2 s; caches; listener.
    pub async fn stop(self) {
        self.closing.cancel();
        self.controllers.close();
        if tokio::time::timeout(GRACE, self.controllers.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "reconciles still run after {} s: they are cancelled",
                GRACE.as_secs()
            );
            self.cancel.cancel();
            self.controllers.wait().await;
        }
        self.events.shutdown(LAST_EVENTS).await;
        self.informers.shutdown().await;
        self.end.cancel();
        self.others.close();
        self.others.wait().await;
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
