use std::{any::TypeId, collections::HashMap, fmt, sync::Arc, time::Duration};

use futures_util::FutureExt;
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};
use tokio::{runtime::Handle, sync::watch, time::timeout};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{InformerGuard, InformersBuilder, any_informer::AnyInformer};
use crate::{
    cache::{
        InformerScope, InformerStatus, ListBudget, ListerWatcher, Readiness, SharedInformer,
        entry::EncodedCache,
        informer::{AllKindOptions, KindOptions, json_size},
        source::{EncodedSource, SharedWatch, WholeObjects},
        status::FailureHandler,
    },
    client::{Api, Client, DecodeThread},
    events::Recorder,
    health::TaskMonitor,
    metrics::Metrics,
    resource::{ApiResource, DynamicObject, Object, PartialObject, Resource, Undecodable},
};

/// Hands out informers and owns their tasks.
///
/// Callers that ask for the same kind, [scope](InformerScope) and representation (the Rust type) get the same
/// informer: one list, one watch, one copy ([R13](crate#guarantees)). Informers run after [`start`](Self::start); an informer that is
/// requested later runs at once. They do not wait for each other: a kind that is forbidden or not served affects no
/// other kind. Only an informer of [metadata](Self::metadata) waits for another one, for a limited time.
///
/// Large answers are decoded on a thread of these informers, which ends with them.
///
/// Clones are handles. When the last one is dropped, the informers end.
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
    on_failure: Option<FailureHandler>,
    decode_thread: Arc<DecodeThread>,
    tracker: TaskTracker,
    task_monitor: TaskMonitor,
    state: Mutex<Registry>,
    /// Changes with each informer that is added.
    registered: watch::Sender<()>,
}

struct Registry {
    informers: HashMap<InformerKey, RegisteredInformer>,
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

/// An informer, and who needs it.
struct RegisteredInformer {
    informer: Arc<dyn AnyInformer>,
    /// A caller requested it without a guard, so that it stays.
    is_permanent: bool,
    guards: usize,
}

#[derive(PartialEq, Eq, Hash)]
struct InformerKey {
    representation: TypeId,
    resource: ApiResource,
    scope: InformerScope,
}

impl Informers {
    /// No informers yet; they will read through `client`.
    pub fn new(client: Client, metrics: Metrics) -> Self {
        Self::builder(client, metrics).build()
    }

    /// Like [`new`](Self::new), with options for kinds and for lists.
    pub fn builder(client: Client, metrics: Metrics) -> InformersBuilder {
        InformersBuilder::new(client, metrics)
    }

    /// Like [`new`](Self::new), with another list budget.
    pub fn with_budget(client: Client, metrics: Metrics, budget: ListBudget) -> Self {
        Self::builder(client, metrics).list_budget(budget).build()
    }

    pub(in crate::cache) fn with(
        mut client: Client,
        metrics: Metrics,
        budget: ListBudget,
        options: AllKindOptions,
        events: Option<Recorder>,
        on_failure: Option<FailureHandler>,
    ) -> Self {
        let decode_thread = Arc::new(DecodeThread::default());
        client.decoder = decode_thread.decoder();
        Self {
            inner: Arc::new(Inner {
                client,
                metrics,
                budget,
                options,
                events,
                on_failure,
                decode_thread,
                tracker: TaskTracker::new(),
                task_monitor: TaskMonitor::new(),
                state: Mutex::new(Registry {
                    informers: HashMap::new(),
                    phase: Phase::New,
                }),
                registered: watch::Sender::new(()),
            }),
        }
    }

    /// The informer of `K` within `scope`.
    pub fn informer<K: Resource>(&self, scope: InformerScope) -> SharedInformer<K> {
        self.of(ApiResource::of::<K>(), scope)
    }

    /// The informer of the metadata of `K`, see [`PartialObject`]. It asks the API server for nothing else.
    ///
    /// If there is an informer of whole objects of the kind with the same scope, this one reads from it, and sends no list
    /// and no watch. So it has a change a moment later than the other one. It holds copies of the metadata, which stay
    /// when the other informer ends. In the metrics it counts as an informer that lists and watches.
    ///
    /// It reads the API server itself when the other informer is failing, brings nothing for some minutes, or has objects that do
    /// not decode. It always does if one of the two has a [transform](InformersBuilder::transform), a
    /// [packing](InformersBuilder::packing) or a [`delta_fifo`](InformersBuilder::delta_fifo), or if the scope is
    /// several namespaces.
    ///
    /// A caller that needs a few more fields asks for the informer of a view: `#[resource(view_of = Pod)]`, see
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
    ///     // For kinds known only at run time: the metadata, and everything.
    ///     let light = informers.of::<PartialObject>(widgets.clone(), all());
    ///     let whole: SharedInformer<DynamicObject> = informers.dynamic(widgets, all());
    /// }
    /// ```
    pub fn metadata<K: Resource>(&self, scope: InformerScope) -> SharedInformer<PartialObject<K>> {
        self.informer(scope)
    }

    /// The informer of a kind known only at run time.
    // As much code as an informer of one more kind. With `inline`, only programs that call it compile it.
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
        self.of_api_server(resource, scope, true)
    }

    /// Like [`of`](Self::of), but only for as long as the guard exists: the informer ends when its last guard is
    /// released, unless a caller has requested it without a guard.
    pub fn acquire<K>(&self, resource: ApiResource, scope: InformerScope) -> InformerGuard<K>
    where
        K: Object + Serialize + DeserializeOwned,
    {
        let informer = self.of_api_server(resource, scope, false);
        InformerGuard::new(self.clone(), informer)
    }

    fn of_api_server<K>(
        &self,
        resource: ApiResource,
        scope: InformerScope,
        is_permanent: bool,
    ) -> SharedInformer<K>
    where
        K: Object + Serialize + DeserializeOwned,
    {
        let mut options = self.inner.options.of::<K>(&resource);
        // A transform and a packing need the decoded object. A view is smaller decoded than the object that the server sent.
        let is_view = K::PARTIAL && !K::METADATA_ONLY;
        if options.transform.is_none() && options.packing.is_none() && !is_view {
            let all = &self.inner.options;
            let (share, is_compressed) = (all.decoded_share, all.is_compressed);
            options.encoded = Some(EncodedCache::new(resource.clone(), share, is_compressed));
        }
        options.measure = Some(json_size::<K>);
        let (client, kind) = (self.inner.client.clone(), resource.clone());
        let cache = options.encoded.clone();
        let may_share = K::METADATA_ONLY && cache.is_some() && !options.delta_fifo;
        let informers = Arc::downgrade(&self.inner);
        let registered = self.inner.registered.subscribe();
        let source = move |scope: &InformerScope, namespace: Option<&str>| EncodedSource {
            api: Api::of(&client, kind.clone(), namespace),
            cache: cache.clone(),
            shared: (may_share && scope.namespaces.are_one()).then(|| {
                let (informers, kind, scope) = (informers.clone(), kind.clone(), scope.clone());
                let find = Box::new(move || informers.upgrade()?.whole(&kind, &scope));
                Arc::new(SharedWatch::new(find, registered.clone()))
            }),
        };
        self.get_or_create(resource, scope, options, source, is_permanent)
    }

    /// Releases a guard. Ends the informer if nobody needs it any more, and returns whether it did.
    pub(super) fn release<K: Object>(&self, informer: &SharedInformer<K>) -> bool {
        let mut state = self.inner.state.lock();
        let is_it = |entry: &RegisteredInformer| {
            let one = entry.informer.as_any().downcast_ref::<SharedInformer<K>>();
            one.is_some_and(|one| one.is(informer))
        };
        // If another caller removed the informer, it has ended already.
        let Some(entry) = state.informers.values_mut().find(|entry| is_it(entry)) else {
            return true;
        };
        entry.guards -= 1;
        let ends = entry.guards == 0 && !entry.is_permanent;
        if ends {
            state.informers.retain(|_, entry| !is_it(entry));
        }
        drop(state);
        if ends {
            informer.stop();
        }
        ends
    }

    /// Like [`of`](Self::of), from another source than the API server. Calls `source` for each namespace that the
    /// informer begins to read (`None` means all of them at once). If there is such an informer already, `source` is
    /// never called.
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
        let options = self.inner.options.of::<K>(&resource);
        let source = move |_: &InformerScope, namespace: Option<&str>| source(namespace);
        self.get_or_create(resource, scope, options, source, true)
    }

    pub(in crate::cache) fn get_or_create<K, L>(
        &self,
        resource: ApiResource,
        scope: InformerScope,
        mut options: KindOptions<K>,
        source: impl Fn(&InformerScope, Option<&str>) -> L + Send + 'static,
        is_permanent: bool,
    ) -> SharedInformer<K>
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let scope = match &options.tweak {
            // The caller depends on the namespaces.
            Some(tweak) => InformerScope {
                namespaces: scope.namespaces.clone(),
                ..tweak(scope)
            },
            None => scope,
        };
        let key = InformerKey {
            representation: TypeId::of::<K>(),
            scope: scope.normalized(resource.namespaced),
            resource,
        };
        let mut state = self.inner.state.lock();
        if let Some(entry) = state.informers.get_mut(&key)
            && let Some(informer) = entry.informer.as_any().downcast_ref()
        {
            let informer = SharedInformer::clone(informer);
            entry.add_user(is_permanent);
            return informer;
        }
        let metrics = crate::cache::status::metrics_of(&self.inner.metrics, &key.resource);
        options.events = self.inner.events.clone();
        options.decoder = self.inner.decode_thread.decoder();
        options.on_failure = self.inner.on_failure.clone();
        let scope = key.scope.clone();
        let informer = SharedInformer::of_sources(
            key.resource.clone(),
            key.scope.clone(),
            metrics,
            self.inner.budget.clone(),
            options,
            Box::new(move |namespace| Some(source(&scope, namespace))),
        );
        state.phase.begin(&informer, &self.inner);
        let mut entry = RegisteredInformer {
            informer: Arc::new(informer.clone()),
            is_permanent: false,
            guards: 0,
        };
        entry.add_user(is_permanent);
        state.informers.insert(key, entry);
        drop(state);
        self.inner.registered.send_replace(());
        informer
    }

    /// Runs the informers, and those requested later, until `cancel` or [`shutdown`](Self::shutdown). A second call
    /// does nothing.
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
    pub fn start(&self, cancel: &CancellationToken) {
        let mut state = self.inner.state.lock();
        if !matches!(state.phase, Phase::New) {
            return;
        }
        let cancel = cancel.child_token();
        state.phase = Phase::Running {
            runtime: Handle::current(),
            _guard: cancel.clone().drop_guard(),
            cancel,
        };
        let Registry { informers, phase } = &*state;
        for informer in informers.values() {
            phase.begin(&*informer.informer, &self.inner);
        }
    }

    /// Ends an informer for all its users. Returns when it has ended: none of its requests is in progress, its
    /// listeners are dropped, and it counts in no metric. Its last state can still be read. A caller that asks for
    /// the same informer later gets a new one.
    ///
    /// Dropping handles ends no informer, because the next caller may want it again. An informer that should end with
    /// its last user is requested by [`acquire`](Self::acquire).
    pub async fn remove<K: Object>(&self, informer: &SharedInformer<K>) {
        self.inner.state.lock().informers.retain(|_, one| {
            let same = one.informer.as_any().downcast_ref::<SharedInformer<K>>();
            !same.is_some_and(|one| one.is(informer))
        });
        informer.stop();
        informer.stopped().await;
    }

    /// Ends all informers. Returns when all their tasks have ended, or after 10 s; the result is that of
    /// [`shutdown_within`](Self::shutdown_within).
    pub async fn shutdown(&self) -> bool {
        self.shutdown_within(Duration::from_secs(10)).await
    }

    /// Ends all informers. Returns whether all their tasks ended within `limit`. A shutdown cannot be undone.
    ///
    /// Tasks that wait for the network or the clock end at once. Only a listener whose function does not return keeps
    /// its informer from ending, and nothing can stop it: it is logged by name, and the [`statuses`](Self::statuses)
    /// report it.
    pub async fn shutdown_within(&self, limit: Duration) -> bool {
        // Dropping the phase outside of the lock cancels the running tasks.
        if let Phase::New = self.enter(Phase::Stopped) {
            let state = self.inner.state.lock();
            let informers = state.informers.values();
            let informers: Vec<_> = informers.map(|one| one.informer.clone()).collect();
            drop(state);
            informers.iter().for_each(|informer| informer.stop());
        }
        self.inner.tracker.close();
        let ended = timeout(limit, async {
            self.inner.tracker.wait().await;
            self.inner.decode_thread.join().await;
        });
        let ended = ended.await.is_ok();
        if !ended {
            for status in self.statuses() {
                if let Some((listener, since)) = status.active_listener {
                    tracing::error!(
                        resource = %status.resource,
                        "the listener {listener} has not returned for {} s: the shutdown does not wait for it any longer",
                        since.as_secs(),
                    );
                }
            }
        }
        ended
    }

    /// Keeps the caches until the process ends, which frees their memory at once. To drop the objects of a large cache one
    /// by one takes seconds.
    pub(crate) fn keep_until_exit(&self) {
        std::mem::forget(self.clone());
    }

    /// Whether the informers' tasks are alive. A panic of the user's code in a listener or an index ends no task.
    pub fn task_monitor(&self) -> &TaskMonitor {
        &self.inner.task_monitor
    }

    /// Ready when all informers requested so far have synced.
    pub fn readiness(&self) -> Readiness {
        let state = self.inner.state.lock();
        let informers = state.informers.values();
        Readiness::all(informers.map(|one| one.informer.readiness()))
    }

    /// The status of each informer, ordered by kind.
    pub fn statuses(&self) -> Vec<InformerStatus> {
        let state = self.inner.state.lock();
        let informers = state.informers.values();
        let mut statuses: Vec<_> = informers.map(|one| one.informer.status()).collect();
        drop(state);
        statuses.sort_by(|a, b| {
            let namespaces = |status: &InformerStatus| status.scope.namespaces.names();
            (&a.resource, namespaces(a)).cmp(&(&b.resource, namespaces(b)))
        });
        statuses
    }

    /// The objects of all kinds that do not decode, in order.
    pub fn undecodable(&self) -> Vec<Arc<Undecodable>> {
        let state = self.inner.state.lock();
        let informers = state.informers.values();
        let informers: Vec<_> = informers.map(|one| one.informer.clone()).collect();
        drop(state);
        let mut all: Vec<_> = informers.iter().flat_map(|one| one.undecodable()).collect();
        all.sort_by(|a, b| (&a.resource, &a.key).cmp(&(&b.resource, &b.key)));
        all
    }

    fn enter(&self, phase: Phase) -> Phase {
        std::mem::replace(&mut self.inner.state.lock().phase, phase)
    }
}

impl Inner {
    /// The informer of the whole objects with this scope, if there is one.
    fn whole(
        &self,
        resource: &ApiResource,
        scope: &InformerScope,
    ) -> Option<Arc<dyn WholeObjects>> {
        let state = self.state.lock();
        let informers = state.informers.iter();
        let same = informers.filter(|(key, _)| &key.resource == resource && &key.scope == scope);
        let whole = |one: &RegisteredInformer| one.informer.clone().whole();
        let found = same.filter_map(|(_, one)| Some((one.is_permanent, whole(one)?)));
        // One that stays, if there are several.
        found.max_by_key(|(stays, _)| *stays).map(|(_, one)| one)
    }
}

impl RegisteredInformer {
    fn add_user(&mut self, for_good: bool) {
        match for_good {
            true => self.is_permanent = true,
            false => self.guards += 1,
        }
    }
}

impl Phase {
    fn begin(&self, informer: &dyn AnyInformer, inner: &Inner) {
        match self {
            Self::New => {}
            Self::Running {
                runtime, cancel, ..
            } => {
                let name = format!("informer {}", informer.status().resource);
                let (run, task_monitor) =
                    (informer.run(cancel.clone()), inner.task_monitor.clone());
                let task = async move { task_monitor.run(name, run).await };
                inner.tracker.spawn_on(task.map(drop).boxed(), runtime);
            }
            Self::Stopped => informer.stop(),
        }
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.statuses()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use tower::service_fn;

    use super::*;
    use crate::client::{Body, BoxError, end_of_thread};

    #[test]
    fn caches_that_are_kept_until_exit_are_not_dropped_with_the_last_handle() {
        let refuse = |_: http::Request<Body>| async {
            Err::<http::Response<Body>, BoxError>("no server".into())
        };
        for is_kept in [false, true] {
            let client = Client::from_service(service_fn(refuse));
            let informers = Informers::new(client, Metrics::new());
            let caches = Arc::downgrade(&informers.inner);
            if is_kept {
                informers.keep_until_exit();
            }
            drop(informers);
            assert_eq!(caches.upgrade().is_some(), is_kept);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_shutdown_ends_the_thread_that_decodes() {
        let refuse = |_: http::Request<Body>| async {
            Err::<http::Response<Body>, BoxError>("no server".into())
        };
        let client = Client::from_service(service_fn(refuse));
        let informers = Informers::new(client, Metrics::new());
        let (ended, noted) = end_of_thread(&informers.inner.client.decoder);
        noted.await;
        assert!(!ended.load(Ordering::Acquire));
        assert!(informers.shutdown().await);
        assert!(ended.load(Ordering::Acquire));
    }
}
