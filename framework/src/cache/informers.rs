use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{runtime::Handle, time::timeout};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    InformerClaim, InformerScope, InformerStatus, InformersBuilder, ListBudget, ListerWatcher,
    Readiness, SharedInformer,
    kind_options::AllKindOptions,
    sizes::{Measure, json_size},
};
use crate::{
    client::{Api, Client},
    events::Recorder,
    health::Lifeline,
    metrics::Metrics,
    resource::{ApiResource, DynamicObject, Object, PartialObject, Resource, Undecodable},
};

/// Hands out informers and owns their tasks.
///
/// Whoever asks for the same kind, namespace, selectors and representation (the Rust type) gets the
/// same informer: one list, one watch, one copy (design promise R13). Informers run from
/// [`start`](Self::start) on; one that is asked for later runs at once. They do not wait for each
/// other: a kind that is forbidden or not served holds back only itself.
///
/// Cloning gives another handle. When the last one is dropped the informers end.
#[derive(Clone)]
pub struct Informers {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    metrics: Metrics,
    budget: ListBudget,
    options: AllKindOptions,
    events: Option<Recorder>,
    tracker: TaskTracker,
    lifeline: Lifeline,
    state: Mutex<State>,
}

struct State {
    informers: HashMap<Identity, Entry>,
    phase: Phase,
}

enum Phase {
    New,
    Running {
        runtime: Handle,
        cancel: CancellationToken,
        _guard: DropGuard,
    },
    Stopped,
}

struct Entry {
    informer: Arc<dyn Informer>,
    /// Somebody asked for it for good.
    kept: bool,
    claims: usize,
}

#[derive(PartialEq, Eq, Hash)]
struct Identity {
    representation: TypeId,
    resource: ApiResource,
    scope: InformerScope,
}

/// A [`SharedInformer`] of any kind.
trait Informer: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn status(&self) -> InformerStatus;
    fn readiness(&self) -> Readiness;
    fn undecodable(&self) -> Vec<Arc<Undecodable>>;
    fn run(&self, cancel: CancellationToken) -> BoxFuture<'static, ()>;
    fn stop(&self);
}

impl Informers {
    /// No informers yet; they will read through `client`.
    pub fn new(client: Client, metrics: Metrics) -> Self {
        Self::builder(client, metrics).build()
    }

    /// The same, with a say in what is kept of objects and in how they are read.
    pub fn builder(client: Client, metrics: Metrics) -> InformersBuilder {
        InformersBuilder::new(client, metrics)
    }

    /// The same, with another number of lists at the same time.
    pub fn with_budget(client: Client, metrics: Metrics, budget: ListBudget) -> Self {
        Self::builder(client, metrics).list_budget(budget).build()
    }

    pub(super) fn with(
        client: Client,
        metrics: Metrics,
        budget: ListBudget,
        options: AllKindOptions,
        events: Option<Recorder>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                metrics,
                budget,
                options,
                events,
                tracker: TaskTracker::new(),
                lifeline: Lifeline::new(),
                state: Mutex::new(State {
                    informers: HashMap::new(),
                    phase: Phase::New,
                }),
            }),
        }
    }

    /// The informer of `K` within `scope`.
    pub fn informer<K: Resource>(&self, scope: InformerScope) -> SharedInformer<K> {
        self.of(ApiResource::of::<K>(), scope)
    }

    /// The informer of the metadata of `K`: the server sends nothing else, see [`PartialObject`].
    ///
    /// It is another informer than that of whole `K`s, with its own watch. Who needs a few fields
    /// more asks for the informer of a view: `#[resource(view_of = Pod)]`, see
    /// [`Resource`](macro@crate::Resource).
    ///
    /// ```
    /// use pilothouse::{
    ///     cache::{InformerScope, Informers, SharedInformer},
    ///     k8s::api::core::v1::{Pod, Secret},
    ///     resource::{ApiResource, DynamicObject, ObjectMeta, PartialObject},
    ///     Resource,
    /// };
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Resource, Deserialize, Serialize, Clone, Debug)]
    /// #[resource(view_of = Pod)]
    /// struct PodOnNode {
    ///     metadata: ObjectMeta,
    ///     spec: OnNode,
    /// }
    ///
    /// #[derive(Deserialize, Serialize, Clone, Debug)]
    /// #[serde(rename_all = "camelCase")]
    /// struct OnNode {
    ///     node_name: Option<String>,
    /// }
    ///
    /// fn caches(informers: &Informers, widgets: ApiResource) {
    ///     let all = InformerScope::all;
    ///     let names: SharedInformer<PartialObject<Secret>> = informers.metadata::<Secret>(all());
    ///     let pods = informers.informer::<PodOnNode>(all());
    ///     // Of kinds known only at run time: the metadata, and everything.
    ///     let light = informers.of::<PartialObject>(widgets.clone(), all());
    ///     let whole: SharedInformer<DynamicObject> = informers.dynamic(widgets, all());
    /// }
    /// ```
    pub fn metadata<K: Resource>(&self, scope: InformerScope) -> SharedInformer<PartialObject<K>> {
        self.informer(scope)
    }

    /// The informer of a kind known only at run time.
    // Most programs have none, and it is as much code as that of a kind of theirs: it is built in those that have.
    #[inline]
    pub fn dynamic(
        &self,
        resource: ApiResource,
        scope: InformerScope,
    ) -> SharedInformer<DynamicObject> {
        self.of(resource, scope)
    }

    /// The informer of the objects of `resource` within `scope`, read as `K`s.
    pub fn of<K>(&self, resource: ApiResource, scope: InformerScope) -> SharedInformer<K>
    where
        K: Object + Serialize + DeserializeOwned,
    {
        let (client, kind) = (self.inner.client.clone(), resource.clone());
        let source = move |namespace: Option<&str>| Api::of(&client, kind.clone(), namespace);
        self.measured(resource, scope, Some(json_size::<K>), source, true)
    }

    /// As [`of`](Self::of), for as long as it is needed: when the last claim is released, and nobody has asked for the
    /// same informer in another way, it ends.
    pub fn claim<K>(&self, resource: ApiResource, scope: InformerScope) -> InformerClaim<K>
    where
        K: Object + Serialize + DeserializeOwned,
    {
        let (client, kind) = (self.inner.client.clone(), resource.clone());
        let source = move |namespace: Option<&str>| Api::of(&client, kind.clone(), namespace);
        let informer = self.measured(resource, scope, Some(json_size::<K>), source, false);
        InformerClaim::new(self.clone(), informer)
    }

    /// Takes back a claim; ends the informer if nobody needs it any more, which it answers.
    pub(super) fn give_back<K: Object>(&self, informer: &SharedInformer<K>) -> bool {
        let mut state = self.state();
        let is_it = |entry: &Entry| {
            let one = entry.informer.as_any().downcast_ref::<SharedInformer<K>>();
            one.is_some_and(|one| one.is(informer))
        };
        // One that was removed by somebody else has ended already.
        let Some(entry) = state.informers.values_mut().find(|entry| is_it(entry)) else {
            return true;
        };
        entry.claims -= 1;
        let ends = entry.claims == 0 && !entry.kept;
        if ends {
            state.informers.retain(|_, entry| !is_it(entry));
        }
        drop(state);
        if ends {
            informer.stop();
        }
        ends
    }

    /// As [`of`](Self::of), from another source than the API server; `source` is called for each
    /// namespace that the informer begins to read (`None`: all of them at once), and not at all if
    /// there is such an informer already.
    pub fn of_source<K, L>(
        &self,
        resource: ApiResource,
        scope: InformerScope,
        source: impl Fn(Option<&str>) -> L + Send + 'static,
    ) -> SharedInformer<K>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        self.measured(resource, scope, None, source, true)
    }

    pub(super) fn measured<K, L>(
        &self,
        resource: ApiResource,
        scope: InformerScope,
        measure: Option<Measure<K>>,
        source: impl Fn(Option<&str>) -> L + Send + 'static,
        kept: bool,
    ) -> SharedInformer<K>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let identity = Identity {
            representation: TypeId::of::<K>(),
            scope: scope.normalized(resource.namespaced),
            resource,
        };
        let mut state = self.state();
        if let Some(entry) = state.informers.get_mut(&identity)
            && let Some(informer) = entry.informer.as_any().downcast_ref()
        {
            let informer = SharedInformer::clone(informer);
            entry.asked(kept);
            return informer;
        }
        let metrics = super::progress::metrics_of(&self.inner.metrics, &identity.resource);
        let mut options = self.inner.options.of(&identity.resource);
        options.events = self.inner.events.clone();
        options.measure = measure;
        let informer = SharedInformer::of_sources(
            identity.resource.clone(),
            identity.scope.clone(),
            metrics,
            self.inner.budget.clone(),
            options,
            Box::new(move |namespace| Some(source(namespace))),
        );
        state.phase.begin(&informer, &self.inner);
        let mut entry = Entry {
            informer: Arc::new(informer.clone()),
            kept: false,
            claims: 0,
        };
        entry.asked(kept);
        state.informers.insert(identity, entry);
        informer
    }

    /// Runs the informers, and those asked for later, until `cancel` or
    /// [`shutdown`](Self::shutdown). Starting twice does nothing.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self, cancel: &CancellationToken) {
        let mut state = self.state();
        if !matches!(state.phase, Phase::New) {
            return;
        }
        let cancel = cancel.child_token();
        state.phase = Phase::Running {
            runtime: Handle::current(),
            _guard: cancel.clone().drop_guard(),
            cancel,
        };
        let State { informers, phase } = &*state;
        for informer in informers.values() {
            phase.begin(&*informer.informer, &self.inner);
        }
    }

    /// Ends an informer for all who have it, and returns when it is over: no request is under way, its
    /// listeners are gone, and it counts in no metric. What it read can still be read. Who asks for the same
    /// afterwards gets a new one.
    ///
    /// Handles that are dropped end nothing, since whoever asks next may want it again; what ends with its last
    /// user is a [claim](Self::claim).
    pub async fn remove<K: Object>(&self, informer: &SharedInformer<K>) {
        self.state().informers.retain(|_, one| {
            let same = one.informer.as_any().downcast_ref::<SharedInformer<K>>();
            !same.is_some_and(|one| one.is(informer))
        });
        informer.stop();
        informer.stopped().await;
    }

    /// Ends all informers, and returns when none of their tasks is left; or after 10 s, as
    /// [`shutdown_within`](Self::shutdown_within) tells.
    pub async fn shutdown(&self) -> bool {
        self.shutdown_within(Duration::from_secs(10)).await
    }

    /// Ends all informers; answers whether all of their tasks ended in time. It cannot be undone.
    ///
    /// Whatever waits for the network or the clock ends at once. Only a listener whose
    /// function does not return keeps its informer from ending, and nothing can stop it: it is
    /// logged by name, and the [`statuses`](Self::statuses) tell it too.
    pub async fn shutdown_within(&self, limit: Duration) -> bool {
        // Dropping the phase outside of the lock cancels what runs.
        if let Phase::New = self.enter(Phase::Stopped) {
            let state = self.state();
            let informers = state.informers.values();
            let informers: Vec<_> = informers.map(|one| one.informer.clone()).collect();
            drop(state);
            informers.iter().for_each(|informer| informer.stop());
        }
        self.inner.tracker.close();
        let ended = timeout(limit, self.inner.tracker.wait()).await.is_ok();
        if !ended {
            for status in self.statuses() {
                if let Some((listener, since)) = status.telling {
                    tracing::error!(
                        resource = %status.resource,
                        "the listener {listener} has not returned for {} s and is left behind",
                        since.as_secs(),
                    );
                }
            }
        }
        ended
    }

    /// Whether the informers' tasks are alive. What an informer's user does wrong, in a listener or an index, ends no
    /// task.
    pub fn lifeline(&self) -> &Lifeline {
        &self.inner.lifeline
    }

    /// Ready when all informers asked for so far have synced.
    pub fn readiness(&self) -> Readiness {
        let state = self.state();
        let informers = state.informers.values();
        Readiness::all(informers.map(|one| one.informer.readiness()))
    }

    /// How each informer is doing, in order of their kinds.
    pub fn statuses(&self) -> Vec<InformerStatus> {
        let state = self.state();
        let informers = state.informers.values();
        let mut statuses: Vec<_> = informers.map(|one| one.informer.status()).collect();
        drop(state);
        statuses.sort_by(|a, b| {
            let namespaces = |status: &InformerStatus| status.scope.namespaces.names();
            (&a.resource, namespaces(a)).cmp(&(&b.resource, namespaces(b)))
        });
        statuses
    }

    /// The objects that do not decode, of all kinds, in order.
    pub fn undecodable(&self) -> Vec<Arc<Undecodable>> {
        let state = self.state();
        let informers = state.informers.values();
        let informers: Vec<_> = informers.map(|one| one.informer.clone()).collect();
        drop(state);
        let mut all: Vec<_> = informers.iter().flat_map(|one| one.undecodable()).collect();
        all.sort_by(|a, b| (&a.resource, &a.key).cmp(&(&b.resource, &b.key)));
        all
    }

    fn enter(&self, phase: Phase) -> Phase {
        std::mem::replace(&mut self.state().phase, phase)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = &self.inner.state;
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn asked(&mut self, for_good: bool) {
        match for_good {
            true => self.kept = true,
            false => self.claims += 1,
        }
    }
}

impl Phase {
    fn begin(&self, informer: &dyn Informer, inner: &Inner) {
        match self {
            Self::New => {}
            Self::Running {
                runtime, cancel, ..
            } => {
                let name = format!("informer {}", informer.status().resource);
                let (run, lifeline) = (informer.run(cancel.clone()), inner.lifeline.clone());
                let task = async move { lifeline.guard(name, run).await };
                inner.tracker.spawn_on(task.map(drop).boxed(), runtime);
            }
            Self::Stopped => informer.stop(),
        }
    }
}

impl<K: Object> Informer for SharedInformer<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn status(&self) -> InformerStatus {
        self.status()
    }

    fn readiness(&self) -> Readiness {
        self.readiness()
    }

    fn undecodable(&self) -> Vec<Arc<Undecodable>> {
        self.undecodable()
    }

    fn run(&self, cancel: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(self.run(cancel))
    }

    fn stop(&self) {
        self.stop();
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.statuses()).finish()
    }
}
