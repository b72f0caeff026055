mod parts;
mod work;

use std::{
    fmt,
    hash::Hash,
    panic::Location,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parts::PartsProgress;

use futures_util::future::BoxFuture;
use tokio::{
    sync::{Semaphore, SemaphorePermit, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    Event, EventStream, Index, IndexHandle, InformerScope, InformerStatus, ListBudget,
    ListenerOptions, Lister, ListerWatcher, Namespaces, Readiness, Store, Subscription,
    event_stream,
    follower::{Follow, Follower},
    kind_options::KindOptions,
    listener::WithOrigin,
    listeners::Listeners,
    origin::Origin,
    processor::Processor,
    progress::Progress,
    readiness::Ready,
    sizes::Sizes,
    transform::Transform,
};
use crate::{
    metrics::{InformerMetrics, Use},
    resource::{ApiResource, Object, Undecodable},
};

/// A cache of one kind that is kept up to date, and that tells listeners what changes.
///
/// Everything of it happens in one task: a [`Reflector`](super::Reflector) fills a [`DeltaQueue`](super::DeltaQueue); what comes out of
/// it is written to the store, shown to the [`Lister`]s, and then told to the listeners, in this
/// order. A listener is a plain function on that task: it should only pass on what it heard. A slow
/// one delays its cache and, beyond the queue's bound, the reading from the network; never another
/// informer.
///
/// [`Informers`](super::Informers) hands out informers and owns their tasks. Cloning gives
/// another handle to the same cache.
pub struct SharedInformer<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    resource: ApiResource,
    scope: InformerScope,
    lister: Lister<K>,
    /// Of the whole.
    progress: Arc<Progress>,
    /// Of each namespace that is read; `None` is all of them.
    parts: PartsProgress,
    metrics: InformerMetrics,
    /// Until the informer ends.
    series: Mutex<Option<Use>>,
    budget: ListBudget,
    /// For listeners that do not say it themselves.
    resync: Option<Duration>,
    ready: watch::Sender<Ready>,
    /// Counts how often a new list was asked for.
    relist: watch::Sender<u64>,
    /// The objects are those of the API server.
    reads_api_server: AtomicBool,
    /// One at a time finds out whether the cache is up to date.
    catching_up: Semaphore,
    cancel: CancellationToken,
    stopped: CancellationToken,
    listeners: Arc<Listeners<K>>,
    work: Mutex<Option<Work<K>>>,
}

/// Gives what a namespace is read from; `None` if it cannot be read.
pub(super) type Source<L> = Box<dyn FnMut(Option<&str>) -> Option<L> + Send>;

type Work<K> = Box<dyn FnOnce(Arc<Shared<K>>) -> BoxFuture<'static, ()> + Send>;

impl<K: Object> SharedInformer<K> {
    /// An informer of what `source` gives. It does nothing until it [runs](Self::run).
    ///
    /// The selectors are those of `scope`; the namespace is that of `source`.
    pub fn new<L: ListerWatcher<K>>(
        source: L,
        scope: InformerScope,
        metrics: InformerMetrics,
    ) -> Self {
        Self::with_budget(source, scope, metrics, ListBudget::default())
    }

    /// The same, with lists that stand in line with others.
    pub fn with_budget<L: ListerWatcher<K>>(
        source: L,
        scope: InformerScope,
        metrics: InformerMetrics,
        budget: ListBudget,
    ) -> Self {
        let scope = match source.namespace() {
            Some(namespace) => scope.namespace(namespace),
            None => InformerScope {
                namespaces: Namespaces::All,
                ..scope
            },
        };
        let resource = source.resource().clone();
        let mut source = Some(source);
        let options = KindOptions::default();
        let source = Box::new(move |_: Option<&str>| source.take());
        Self::of_sources(resource, scope, metrics, budget, options, source)
    }

    /// An informer of several sources: `source` is called for each namespace of `scope` when it is to
    /// be read, with `None` for all of them at once.
    pub fn in_namespaces<L: ListerWatcher<K>>(
        resource: ApiResource,
        scope: InformerScope,
        metrics: InformerMetrics,
        budget: ListBudget,
        source: impl Fn(Option<&str>) -> L + Send + 'static,
    ) -> Self {
        let scope = scope.normalized(resource.namespaced);
        let options = KindOptions::default();
        let source = Box::new(move |namespace: Option<&str>| Some(source(namespace)));
        Self::of_sources(resource, scope, metrics, budget, options, source)
    }

    pub(super) fn of_sources<L: ListerWatcher<K>>(
        resource: ApiResource,
        scope: InformerScope,
        metrics: InformerMetrics,
        budget: ListBudget,
        options: KindOptions<K>,
        source: Source<L>,
    ) -> Self {
        let store = match options.packing {
            Some(packing) => Store::packed(packing),
            None => Store::new(),
        };
        let (metrics, series) = metrics.in_use();
        let sizes = options
            .measure
            .map(|measure| Sizes::new(measure, metrics.object_bytes()));
        let transform = options
            .transform
            .map(|function| Transform::new(resource.clone(), metrics.clone(), function));
        let progress = Progress::new(resource.clone(), None, metrics.clone());
        let progress = progress.recording(options.events);
        let shared = Shared {
            listeners: Arc::new(Listeners::new(resource.clone(), metrics.clone())),
            resource,
            scope,
            lister: store.lister(),
            progress: Arc::new(progress),
            parts: PartsProgress::default(),
            metrics,
            series: Mutex::new(Some(series)),
            budget,
            resync: options.resync,
            ready: watch::Sender::new(Ready::NotYet),
            relist: watch::Sender::new(0),
            reads_api_server: AtomicBool::new(false),
            catching_up: Semaphore::new(1),
            cancel: CancellationToken::new(),
            stopped: CancellationToken::new(),
            work: Mutex::new(Some(Box::new(|shared| {
                Box::pin(shared.work(source, Processor::new(store, transform), sizes))
            }))),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Lists and watches until `cancel`, or until the future is dropped. An informer runs once: a
    /// second call warns and returns.
    pub fn run(&self, cancel: CancellationToken) -> impl Future<Output = ()> + Send + use<K> {
        let shared = self.shared.clone();
        let work = shared.take_work();
        // Made here, so that a future that is dropped unpolled ends the informer too.
        let work = work.map(|work| (work, End(shared.clone())));
        async move {
            let Some((work, _end)) = work else {
                tracing::warn!(resource = %shared.resource, "this informer runs or ran already");
                return;
            };
            let own = shared.cancel.clone();
            let work = cancel.run_until_cancelled(work(shared));
            own.run_until_cancelled(work).await;
        }
    }

    /// Reads the cache. Before [`synced`](Self::synced) it may be empty or incomplete.
    pub fn lister(&self) -> Lister<K> {
        self.shared.lister.clone()
    }

    /// Adds a function that hears of every change from now on. If the informer has objects
    /// already, they are told first, as [`Event::Added`] with `initial`, without a gap to the later
    /// changes and without telling one twice.
    ///
    /// The function runs on the informer's task, and the cache waits for it: it should only pass on
    /// what it heard. The first time that it takes more than 100 ms for what it is told at once, this
    /// is logged; whoever needs time takes a [`stream`](Self::stream). A panic of it ends only the
    /// call: it is counted and logged, and the next event is told. The log and the metrics name it by
    /// the line that added it. After the informer stopped, the function is dropped and never called.
    #[track_caller]
    pub fn add_listener(&self, function: impl FnMut(&Event<K>) + Send + 'static) -> Subscription {
        self.add_listener_with(ListenerOptions::new(), function)
    }

    /// [`add_listener`](Self::add_listener) for those who add many on one line: `name` stands in the
    /// log and the metrics instead of the line. Each name makes series: it must not come from objects.
    pub fn add_named_listener(
        &self,
        name: impl Into<Arc<str>>,
        function: impl FnMut(&Event<K>) + Send + 'static,
    ) -> Subscription {
        self.add_listener_with(ListenerOptions::new().named(name), function)
    }

    /// [`add_listener`](Self::add_listener) with a name, or for who wants to hear again of what did not change.
    #[track_caller]
    pub fn add_listener_with(
        &self,
        options: ListenerOptions,
        function: impl FnMut(&Event<K>) + Send + 'static,
    ) -> Subscription {
        let name = options.name.unwrap_or_else(|| location(Location::caller()));
        let resync = options.resync.or(self.shared.resync);
        let listeners = &self.shared.listeners;
        listeners.add(name, Box::new(function), resync, None)
    }

    /// The changes from now on as a stream, for who takes its time: what was not taken yet is kept
    /// once per object, and the informer never waits for it. It begins with the objects
    /// that are there, as a [listener](Self::add_listener) does.
    #[track_caller]
    pub fn stream(&self) -> EventStream<K> {
        self.stream_with(ListenerOptions::new())
    }

    /// [`stream`](Self::stream) with a name, or for who wants to hear again of what did not change.
    #[track_caller]
    pub fn stream_with(&self, options: ListenerOptions) -> EventStream<K> {
        let name = options.name.unwrap_or_else(|| location(Location::caller()));
        let resync = options.resync.or(self.shared.resync);
        let metrics = self.shared.metrics.listener(&name);
        let (feeder, readiness, stream) = event_stream::buffer(metrics);
        let listeners = &self.shared.listeners;
        stream(listeners.add(name, Box::new(feeder), resync, Some(readiness)))
    }

    /// [`add_named_listener`](Self::add_named_listener) for who wants to know where an event comes from.
    pub(crate) fn add_listener_with_origin(
        &self,
        name: impl Into<Arc<str>>,
        function: impl FnMut(&Event<K>, Origin) + Send + 'static,
    ) -> Subscription {
        let (listeners, resync) = (&self.shared.listeners, self.shared.resync);
        listeners.add(name.into(), Box::new(WithOrigin(function)), resync, None)
    }

    /// Adds what follows the cache from now on.
    pub(crate) fn follow(&self, name: &str, follow: impl Follow<K>) -> Subscription {
        let listeners = &self.shared.listeners;
        listeners.add(name.into(), Box::new(Follower(follow)), None, None)
    }

    /// Lists anew, from the server's newest state, and watches on from there. What the list does not
    /// name is delivered as deleted, as after every list.
    ///
    /// In the course of things nobody has to ask for this: the informer knows itself when a list is
    /// needed. It is for those who know that what the cache holds cannot be right.
    pub fn relist(&self) {
        self.shared.relist.send_modify(|asked| *asked += 1);
    }

    /// Whether the cache is known to hold all changes that the API server had made by `moment`, or by any moment if it
    /// is `None`. A cache of another source only has to have synced.
    pub(crate) fn is_consistent_since(&self, moment: Option<Instant>) -> bool {
        let shared = &self.shared;
        match shared.reads_api_server.load(Ordering::Relaxed) {
            true => shared.parts.are_consistent_since(moment),
            false => self.has_synced(),
        }
    }

    /// The cache holds all changes of `namespace`, or of all if it is `None`, that the API server had made by `moment`.
    pub(crate) fn became_consistent(&self, namespace: Option<&str>, moment: Instant) {
        self.shared.parts.became_consistent(namespace, moment);
    }

    /// Waits until nobody else finds out whether the cache is up to date.
    pub(crate) async fn catching_up(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.shared.catching_up.acquire().await.ok()
    }

    /// Adds an index, before the informer runs or while it does: then it is filled with what is
    /// there, in one go on the informer's task. The handle can be asked at once and always answers
    /// rightly: see [`IndexHandle`].
    pub fn add_index<V>(&self, index: Index<K, V>) -> IndexHandle<K, V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        let progress = Arc::downgrade(&self.shared.progress);
        let index = index.counted(move |panicked| {
            if let Some(progress) = progress.upgrade() {
                progress.index_failed(panicked);
            }
        });
        let handle = self.shared.lister.add_index(index);
        self.shared.listeners.look();
        handle
    }

    /// Whether the first list has reached the store and all listeners of that time. It stays so.
    pub fn has_synced(&self) -> bool {
        self.shared.ready.borrow().eq(&Ready::Yes)
    }

    /// Waits until [`has_synced`](Self::has_synced); any number may wait, and all are woken.
    /// `false` if the informer stopped before that.
    pub async fn synced(&self) -> bool {
        self.readiness().wait().await
    }

    /// The same, to be had together with others.
    pub fn readiness(&self) -> Readiness {
        let name = self.shared.resource.qualified_plural();
        Readiness::of(name, self.shared.ready.subscribe())
    }

    /// Waits until the informer has ended and its listeners are gone. One that was never started
    /// ends with [`Informers::shutdown`](super::Informers::shutdown).
    pub async fn stopped(&self) {
        self.shared.stopped.cancelled().await;
    }

    /// The objects that do not decode, and why; the last version that did is in the
    /// [snapshot](Lister::snapshot). Each version of one is logged and counted once.
    pub fn undecodable(&self) -> Vec<Arc<Undecodable>> {
        let snapshot = self.shared.lister.snapshot();
        if snapshot.undecodable() == 0 {
            return Vec::new();
        }
        let entries = snapshot.iter();
        let undecodable = entries.filter_map(|(_, entry)| entry.undecodable().cloned());
        undecodable.collect()
    }

    /// How the informer is doing. Of several namespaces it tells the first trouble.
    pub fn status(&self) -> InformerStatus {
        let shared = &self.shared;
        let snapshot = shared.lister.snapshot();
        let status = InformerStatus {
            resource: shared.resource.clone(),
            scope: shared.scope.clone(),
            synced: self.has_synced(),
            mode: shared.progress.mode(),
            last_error: None,
            failing_for: None,
            not_served: false,
            forbidden: false,
            silent_for: None,
            objects: snapshot.len(),
            undecodable: snapshot.undecodable(),
            parts: Vec::new(),
            telling: shared.listeners.telling(),
        };
        shared.parts.complete(status)
    }

    /// The kind.
    pub fn resource(&self) -> &ApiResource {
        &self.shared.resource
    }

    /// Which objects of the kind.
    pub fn scope(&self) -> &InformerScope {
        &self.shared.scope
    }

    /// Ends the informer, whether it runs or not. It is over when it has [stopped](Self::stopped).
    pub(super) fn stop(&self) {
        self.shared.cancel.cancel();
        let work = self.shared.take_work();
        if work.is_some() {
            self.shared.end();
        }
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<K> Shared<K> {
    fn take_work(&self) -> Option<Work<K>> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.take()
    }

    fn end(&self) {
        self.listeners.close();
        self.progress.stopped();
        self.parts.all().iter().for_each(|part| part.stopped());
        self.ready.send_if_modified(|ready| {
            let is_waited_for = *ready == Ready::NotYet;
            if is_waited_for {
                *ready = Ready::Never;
            }
            is_waited_for
        });
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        drop(series.take());
        drop(series);
        self.stopped.cancel();
    }
}

fn location(location: &Location<'_>) -> Arc<str> {
    format!("{}:{}", location.file(), location.line()).into()
}

/// Marks the end of an informer, however its future ends.
struct End<K>(Arc<Shared<K>>);

impl<K> Drop for End<K> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.progress.troubled("keep", "the informer panicked");
        }
        self.0.end();
    }
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<K> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("resource", &self.shared.resource)
            .field("scope", &self.shared.scope)
            .field("store", &self.shared.lister)
            .finish_non_exhaustive()
    }
}
