use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_core::Stream;
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Inlet, Kind, Lookup, Mapping, Owned, Pumped, Read, Request, Source, Watched,
    inlet::Door,
    source::Life,
    wiring::{Connection, Wiring},
};
use crate::{
    client::{AccessGrant, AccessGuard},
    controller::{Change, Environment, Result, owner_map::References},
    resource::{ApiResource, CanOwn, Object, ObjectKey, Resource},
};

/// Adds sources to a controller while it works; cloning shares it.
///
/// For what is not known when the program is written or started: which kinds to watch may stand in a reconciled
/// object. What is added waits for its own kind only, and nothing waits for it: no
/// reconcile that it asks for begins before it has synced, others go on. What is added before the
/// controller works begins with it.
///
/// While a source is there its kind is [declared](super::super::Controller::needs) as that of a wired one is, so that a
/// [`Context`](super::super::Context) may read it past the cache, and write what is owned. No manifest can know of it: what the API
/// server is to allow has to be declared by [`Controller::access`](super::super::Controller::access).
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
    state: Arc<Mutex<State<K>>>,
}

enum State<K> {
    New(Vec<(Box<dyn Wiring<K>>, Life)>),
    Running(Runtime<K>),
    Stopped,
}

struct Runtime<K> {
    environment: Environment,
    /// Of those who were there from the beginning.
    inlet: Inlet<K>,
    guard: Arc<AccessGuard>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl<K: Resource> Sources<K> {
    /// As [`Controller::owns`](super::super::Controller::owns).
    pub fn owns<C: Resource>(&self) -> Source
    where
        K::Scope: CanOwn<C::Scope>,
    {
        self.add(Owned::<C> {
            kind: Kind::typed(),
            predicate: None,
            references: References::Controller,
        })
    }

    /// As [`Controller::watches`](super::super::Controller::watches).
    pub fn watches<C: Resource>(
        &self,
        map: impl Fn(&C) -> Vec<ObjectKey> + Send + 'static,
    ) -> Source {
        self.add(Watched {
            kind: Kind::typed(),
            map: Mapping::Object(Box::new(map)),
            predicate: None,
        })
    }

    /// As [`Controller::watches_changes`](super::super::Controller::watches_changes).
    pub fn watches_changes<C: Resource>(
        &self,
        map: impl Fn(&Change<'_, C>, &Lookup<'_>) -> Result<Vec<ObjectKey>> + Send + 'static,
    ) -> Source {
        self.add(Watched {
            kind: Kind::typed(),
            map: Mapping::Change(Box::new(map)),
            predicate: None,
        })
    }

    /// As [`Controller::reads`](super::super::Controller::reads).
    pub fn reads<C: Resource>(&self) -> Source {
        self.add(Read::<C>(Kind::typed()))
    }

    /// As [`Controller::owns_of`](super::super::Controller::owns_of).
    pub fn owns_of<C>(&self, resource: ApiResource) -> Source
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.add(Owned::<C> {
            kind: Kind::of(resource),
            predicate: None,
            references: References::Controller,
        })
    }

    /// As [`Controller::watches_of`](super::super::Controller::watches_of).
    pub fn watches_of<C>(
        &self,
        resource: ApiResource,
        map: impl Fn(&C) -> Vec<ObjectKey> + Send + 'static,
    ) -> Source
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.add(Watched {
            kind: Kind::of(resource),
            map: Mapping::Object(Box::new(map)),
            predicate: None,
        })
    }

    /// As [`Controller::reads_of`](super::super::Controller::reads_of).
    pub fn reads_of<C>(&self, resource: ApiResource) -> Source
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.add(Read::<C>(Kind::of(resource)))
    }

    /// As [`Controller::source`](super::super::Controller::source).
    pub fn source<S>(&self, stream: S) -> Source
    where
        S: Stream<Item: Into<Request> + Send> + Send + 'static,
    {
        self.add(Pumped::requests(stream))
    }

    fn add(&self, wiring: impl Wiring<K> + 'static) -> Source {
        let (source, life) = Source::new();
        let wiring: Box<dyn Wiring<K>> = Box::new(wiring);
        match &mut *self.state() {
            State::New(waiting) => waiting.push((wiring, life)),
            State::Running(runtime) => runtime.begin(wiring, life),
            // The life is dropped: whoever waits hears that it is over.
            State::Stopped => {}
        }
        source
    }

    /// From now on sources are at work, until the guard is dropped.
    pub(in crate::controller) fn start(
        &self,
        environment: &Environment,
        inlet: &Inlet<K>,
        guard: &Arc<AccessGuard>,
    ) -> Started<K> {
        let runtime = Runtime {
            environment: environment.clone(),
            inlet: inlet.clone(),
            guard: guard.clone(),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        let mut state = self.state();
        if let State::New(waiting) = &mut *state {
            for (wiring, life) in waiting.drain(..) {
                runtime.begin(wiring, life);
            }
        }
        let started = Started {
            sources: self.clone(),
            tracker: runtime.tracker.clone(),
            stop: runtime.stop.clone(),
        };
        *state = State::Running(runtime);
        started
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Resource> Runtime<K> {
    fn begin(&self, wiring: Box<dyn Wiring<K>>, life: Life) {
        let inlet = self.inlet.shut();
        let access = wiring.wired().map(|wired| wired.access());
        let granted = access.map(|access| self.guard.grant(access));
        let connection = wiring.connect(&self.environment, &inlet);
        let (environment, stop) = (self.environment.clone(), self.stop.clone());
        spawn(
            &self.tracker,
            connection,
            environment,
            granted,
            inlet.door,
            life,
            stop,
        );
    }
}

fn spawn(
    tracker: &TaskTracker,
    connection: Connection,
    environment: Environment,
    granted: Option<AccessGrant>,
    door: Door,
    life: Life,
    stop: CancellationToken,
) {
    let removed = life.removed.clone();
    tracker.spawn(async move {
        let over = async {
            // Both only wait.
            tokio::select! {
                () = removed.cancelled() => {}
                () = stop.cancelled() => {}
            }
        };
        live(connection, environment, granted, door, life, over).await;
    });
}

/// A source from being connected to being gone.
async fn live(
    mut connection: Connection,
    environment: Environment,
    granted: Option<AccessGrant>,
    door: Door,
    life: Life,
    over: impl Future<Output = ()>,
) {
    let work = async {
        if (&mut connection.synced).await {
            connection.catch_up(&environment, &door.hub).await;
            connection.make_readable(&door.hub.readers);
            door.open();
            life.synced.send_replace(true);
            if let Some(pump) = connection.pump.take() {
                return pump.await;
            }
        }
        std::future::pending().await
    };
    // Nothing in the work has to be finished; it is dropped here.
    tokio::select! {
        () = work => {}
        () = over => {}
    }
    drop(granted);
    connection.end(&door.hub).await;
}

/// Sources at work. Dropping it ends them without waiting.
pub(in crate::controller) struct Started<K: Resource> {
    sources: Sources<K>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl<K: Resource> Started<K> {
    /// Ends all sources, and returns when they have ended.
    pub(in crate::controller) async fn stop(self) {
        let tracker = self.tracker.clone();
        drop(self);
        tracker.close();
        tracker.wait().await;
    }
}

impl<K: Resource> Drop for Started<K> {
    fn drop(&mut self) {
        *self.sources.state() = State::Stopped;
        self.stop.cancel();
    }
}

impl<K> Default for Sources<K> {
    fn default() -> Self {
        Self {
            state: Arc::new(Mutex::new(State::New(Vec::new()))),
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
