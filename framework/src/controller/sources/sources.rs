use std::{fmt, sync::Arc};

use futures_core::Stream;
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    declarations::{Owned, Read, RuntimeSource, Watched},
    enqueuer::{Enqueuer, Gate},
    mapping::Mapping,
    request::Request,
    source::{Source, SourceLifetime},
    stream_source::StreamSource,
    wiring::{Connection, Wiring},
};
use crate::{
    client::{AccessGrant, AccessGuard},
    controller::{environment::Environment, reconcilable::Reconcilable},
    resource::{CanOwn, ObjectKey, Resource},
};

/// Adds sources to a controller while it runs. Clones share the controller.
///
/// Use it for kinds that are not known when the program is written or started: a reconciled object may name the kinds to
/// watch. An added source waits for its own kind only: no reconcile that it causes begins before it has synced, and nothing
/// else waits for it. A source that is added before the controller works begins together with it.
///
/// While the source exists its kind is [declared](crate::controller::Controller::needs) as a wired one is: a
/// [`Context`](crate::controller::Context) may read it past the cache, and write owned objects. But no manifest can know of
/// it: declare the permissions that the API server has to grant by
/// [`Controller::access`](crate::controller::Controller::access).
///
/// ```
/// use pilothouse::controller::{Request, Sources};
/// use pilothouse::k8s::api::{apps::v1::Deployment, core::v1::Secret};
/// use pilothouse::resource::{Object, ObjectKey};
///
/// async fn watch_secrets(sources: &Sources<Deployment>) {
///     let secrets = sources.watches::<Secret>(|secret| {
///         let web = secret.label("web").map(|web| ObjectKey::new(secret.namespace(), web));
///         web.into_iter().collect()
///     });
///     if secrets.synced().await {
///         // `cx.get::<Secret>(..)` works from here on.
///     }
///     secrets.remove().await;
/// }
/// ```
pub struct Sources<K> {
    state: Arc<Mutex<SourcesState<K>>>,
}

enum SourcesState<K> {
    /// The controller has not started. The sources wait.
    NotStarted(Vec<(Box<dyn Wiring<K>>, SourceLifetime)>),
    Running(Runtime<K>),
    Stopped,
}

/// What a source needs to start.
struct Runtime<K> {
    environment: Environment,
    /// The open enqueuer of the controller.
    enqueuer: Enqueuer<K>,
    guard: Arc<AccessGuard>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl<K: Reconcilable> Sources<K> {
    /// As [`Controller::watch`](crate::controller::Controller::watch): a kind with options. Neither
    /// [`Owned::detached`] nor [`Owned::pruned`] can be added at run time; this does not compile.
    pub fn watch<S: RuntimeSource<K>>(&self, source: S) -> Source {
        self.add(source.declare().wiring)
    }

    /// As [`Controller::owns`](crate::controller::Controller::owns).
    pub fn owns<C: Resource>(&self) -> Source
    where
        K::Scope: CanOwn<C::Scope>,
    {
        self.watch(Owned::<C>::new())
    }

    /// As [`Controller::watches`](crate::controller::Controller::watches).
    pub fn watches<C: Resource>(
        &self,
        map: impl Fn(&C) -> Vec<ObjectKey> + Send + 'static,
    ) -> Source {
        self.watch(Watched::new(Mapping::objects(map)))
    }

    /// As [`Controller::reads`](crate::controller::Controller::reads).
    pub fn reads<C: Resource>(&self) -> Source {
        self.watch(Read::<C>::new())
    }

    /// As [`Controller::source`](crate::controller::Controller::source).
    pub fn source<S>(&self, stream: S) -> Source
    where
        S: Stream<Item: Into<Request> + Send> + Send + 'static,
    {
        self.add(Box::new(StreamSource::requests(stream)))
    }

    fn add(&self, wiring: Box<dyn Wiring<K>>) -> Source {
        let (source, lifetime) = Source::new();
        match &mut *self.state.lock() {
            SourcesState::NotStarted(waiting) => waiting.push((wiring, lifetime)),
            SourcesState::Running(runtime) => runtime.begin(wiring, lifetime),
            // The lifetime is dropped, which wakes those who wait for the source.
            SourcesState::Stopped => {}
        }
        source
    }

    /// Starts the added sources, and lets later ones start at once, until the guard is dropped.
    pub(crate) fn start(
        &self,
        environment: &Environment,
        enqueuer: &Enqueuer<K>,
        guard: &Arc<AccessGuard>,
    ) -> StartedSources<K> {
        let runtime = Runtime {
            environment: environment.clone(),
            enqueuer: enqueuer.clone(),
            guard: guard.clone(),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        let mut state = self.state.lock();
        if let SourcesState::NotStarted(waiting) = &mut *state {
            for (wiring, lifetime) in waiting.drain(..) {
                runtime.begin(wiring, lifetime);
            }
        }
        let started = StartedSources {
            sources: self.clone(),
            tracker: runtime.tracker.clone(),
            stop: runtime.stop.clone(),
        };
        *state = SourcesState::Running(runtime);
        started
    }
}

impl<K: Reconcilable> Runtime<K> {
    fn begin(&self, wiring: Box<dyn Wiring<K>>, lifetime: SourceLifetime) {
        let enqueuer = self.enqueuer.closed();
        let access = wiring.wired().map(|wired| wired.access());
        let granted = access.map(|access| self.guard.grant(access));
        let connection = wiring.connect(&self.environment, &enqueuer);
        let (environment, stop) = (self.environment.clone(), self.stop.clone());
        spawn(
            &self.tracker,
            connection,
            environment,
            granted,
            enqueuer.gate,
            lifetime,
            stop,
        );
    }
}

/// Runs a source from its start to its end.
fn spawn(
    tracker: &TaskTracker,
    connection: Connection,
    environment: Environment,
    granted: Option<AccessGrant>,
    gate: Gate,
    lifetime: SourceLifetime,
    stop: CancellationToken,
) {
    let removed = lifetime.removed.clone();
    tracker.spawn(async move {
        let over = async {
            // Losing either branch is safe: both only wait.
            tokio::select! {
                () = removed.cancelled() => {}
                () = stop.cancelled() => {}
            }
        };
        run(connection, environment, granted, gate, lifetime, over).await;
    });
}

async fn run(
    mut connection: Connection,
    environment: Environment,
    granted: Option<AccessGrant>,
    gate: Gate,
    lifetime: SourceLifetime,
    over: impl Future<Output = ()>,
) {
    let work = async {
        if (&mut connection.synced).await {
            connection.catch_up(&environment, &gate.controller).await;
            connection.make_readable(&gate.controller.caches);
            gate.open();
            lifetime.synced.send_replace(true);
            if let Some(stream) = connection.stream.take() {
                return stream.await;
            }
        }
        std::future::pending().await
    };
    // Losing `work` is safe: nothing in it has to be finished.
    tokio::select! {
        () = work => {}
        () = over => {}
    }
    drop(granted);
    connection.end(&gate.controller).await;
}

/// The running sources that were added. Dropping this ends them without waiting.
pub(crate) struct StartedSources<K: Reconcilable> {
    sources: Sources<K>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl<K: Reconcilable> StartedSources<K> {
    /// Ends all sources, and returns when they have ended.
    pub(crate) async fn stop(self) {
        let tracker = self.tracker.clone();
        drop(self);
        tracker.close();
        tracker.wait().await;
    }
}

impl<K: Reconcilable> Drop for StartedSources<K> {
    fn drop(&mut self) {
        *self.sources.state.lock() = SourcesState::Stopped;
        self.stop.cancel();
    }
}

impl<K> Default for Sources<K> {
    fn default() -> Self {
        Self {
            state: Arc::new(Mutex::new(SourcesState::NotStarted(Vec::new()))),
        }
    }
}

impl<K> Clone for Sources<K> {
    fn clone(&self) -> Self {
        Self {
            state: self.state.clone(),
        }
    }
}

impl<K> fmt::Debug for Sources<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}
