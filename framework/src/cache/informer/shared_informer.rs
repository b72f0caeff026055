use std::{
    fmt,
    hash::Hash,
    panic::Location,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SemaphorePermit, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    kind_options::KindOptions, object_sizes::ObjectSizes, processor::Processor,
    progress_by_namespace::ProgressByNamespace, transform::Transform,
};
use crate::{
    cache::{
        CacheObserver, Event, EventOrigin, EventStream, Index, IndexHandle, InformerFailure,
        InformerScope, InformerStatus, ListBudget, ListenerOptions, Lister, ListerWatcher,
        Namespaces, Readiness, Store, Subscription,
        entry::EncodedCache,
        listener::{HandlerWithOrigin, Listeners, ObserverHandler, event_stream},
        readiness::ReadyState,
        source::{MetadataFeed, MetadataFeeder, WholeObjects},
        status::{FailureHandler, FailureHandlers, Progress},
    },
    client::Decoder,
    metrics::{InformerMetrics, SeriesUse},
    resource::{ApiResource, Object, Undecodable},
};

/// A cache of one kind that is kept up to date, and that delivers changes to listeners.
///
/// Everything happens in one task: a [`Reflector`](crate::cache::Reflector) fills a
/// [`DeltaQueue`](crate::cache::DeltaQueue). The task applies the deltas to the store, publishes them to the
/// [`Lister`]s, and then delivers the events to the listeners, in this order. A listener is a plain function on that
/// task and should only pass events on. A slow listener delays its cache and, once the queue is full, the reading
/// from the network. It never delays another informer, except one of metadata that
/// [reads from this one](crate::cache::Informers::metadata).
///
/// [`Informers`](crate::cache::Informers) hands out informers and owns their tasks. Clones are handles of the same
/// cache.
pub struct SharedInformer<K> {
    shared: Arc<InformerInner<K>>,
}

/// What all handles of an informer share.
pub(super) struct InformerInner<K> {
    pub(super) resource: ApiResource,
    pub(super) scope: InformerScope,
    pub(super) lister: Lister<K>,
    /// The progress of the whole informer.
    pub(super) progress: Arc<Progress>,
    /// The progress of each namespace that the informer reads.
    pub(super) namespaces: ProgressByNamespace,
    /// The functions of the program that receive each failure of the requests.
    pub(super) failure_handlers: FailureHandlers,
    pub(super) metrics: InformerMetrics,
    /// `None` once the informer has ended.
    pub(super) series: Mutex<Option<SeriesUse>>,
    pub(super) budget: ListBudget,
    /// Whether the queue gathers the deltas of each object.
    pub(super) delta_fifo: bool,
    /// The default for listeners that set no period of their own.
    pub(super) resync: Option<Duration>,
    pub(super) decoder: Decoder,
    /// What the encoded objects share, if the cache stores objects as the API server sent them.
    pub(super) encoded: Option<Arc<EncodedCache<K>>>,
    pub(super) ready: watch::Sender<ReadyState>,
    /// Counts the requests for a new list.
    pub(super) relist: watch::Sender<u64>,
    /// The objects come from the API server.
    pub(super) reads_api_server: AtomicBool,
    /// Only one caller at a time finds out whether the cache is up to date.
    pub(super) catching_up: Semaphore,
    pub(super) cancel: CancellationToken,
    pub(super) stopped: CancellationToken,
    pub(super) listeners: Arc<Listeners<K>>,
    pub(super) task: Mutex<Option<InformerTask<K>>>,
}

/// Creates the source of a namespace. Returns `None` if the namespace cannot be read.
pub(super) type SourceFactory<L> = Box<dyn FnMut(Option<&str>) -> Option<L> + Send>;

type InformerTask<K> = Box<dyn FnOnce(Arc<InformerInner<K>>) -> BoxFuture<'static, ()> + Send>;

impl<K: Object> SharedInformer<K> {
    /// An informer of the objects of `source`. It does nothing until [`run`](Self::run) is called.
    ///
    /// The selectors are those of `scope`; the namespace is that of `source`.
    pub fn new<L: ListerWatcher<K>>(
        source: L,
        scope: InformerScope,
        metrics: InformerMetrics,
    ) -> Self {
        Self::with_budget(source, scope, metrics, ListBudget::default())
    }

    /// Like [`new`](Self::new), with a list budget that it shares with other informers.
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

    /// An informer of several sources. It calls `source` for each namespace of `scope` when it begins to read it,
    /// with `None` for all namespaces at once.
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

    pub(in crate::cache) fn of_sources<L: ListerWatcher<K>>(
        resource: ApiResource,
        scope: InformerScope,
        metrics: InformerMetrics,
        budget: ListBudget,
        options: KindOptions<K>,
        source: SourceFactory<L>,
    ) -> Self {
        let store = match options.packing {
            Some(packing) => Store::packed(packing),
            None => Store::new(),
        };
        let (metrics, series) = metrics.in_use();
        let sizes = options
            .measure
            .map(|measure| ObjectSizes::new(measure, metrics.object_bytes()));
        let transform = options
            .transform
            .map(|function| Transform::new(resource.clone(), metrics.clone(), function));
        let progress = Progress::new(resource.clone(), None, metrics.clone());
        let progress = progress.recording(options.events);
        let failure_handlers = FailureHandlers::default();
        options
            .on_failure
            .into_iter()
            .for_each(|handler| failure_handlers.add(handler));
        let shared = InformerInner {
            listeners: Arc::new(Listeners::new(resource.clone(), metrics.clone())),
            resource,
            lister: store
                .lister()
                .scoped(&scope)
                .counting(options.encoded.as_ref().map(|one| one.failures.clone())),
            scope,
            progress: Arc::new(progress),
            namespaces: ProgressByNamespace::default(),
            failure_handlers,
            metrics,
            series: Mutex::new(Some(series)),
            budget,
            delta_fifo: options.delta_fifo,
            resync: options.resync,
            decoder: options.decoder,
            encoded: options.encoded,
            ready: watch::Sender::new(ReadyState::Pending),
            relist: watch::Sender::new(0),
            reads_api_server: AtomicBool::new(false),
            catching_up: Semaphore::new(1),
            cancel: CancellationToken::new(),
            stopped: CancellationToken::new(),
            task: Mutex::new(Some(Box::new(|shared| {
                Box::pin(shared.run_task(source, Processor::new(store, transform), sizes))
            }))),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Lists and watches until `cancel`, or until the future is dropped. An informer runs once: a second call logs a
    /// warning and returns.
    pub fn run(&self, cancel: CancellationToken) -> impl Future<Output = ()> + Send + use<K> {
        let shared = self.shared.clone();
        let work = shared.take_task();
        // Created here, so that dropping the future before its first poll ends the informer too.
        let work = work.map(|work| (work, EndGuard(shared.clone())));
        async move {
            let Some((work, _end)) = work else {
                tracing::warn!(resource = %shared.resource, "run was called before: an informer runs only once");
                return;
            };
            let own = shared.cancel.clone();
            let work = cancel.run_until_cancelled(work(shared));
            own.run_until_cancelled(work).await;
        }
    }

    /// Reads the cache. Before the informer has [synced](Self::synced) the cache may be empty or incomplete.
    pub fn lister(&self) -> Lister<K> {
        self.shared.lister.clone()
    }

    /// Adds a function that receives every change from now on. If the informer already has objects, the function
    /// receives them first, as [`Event::Added`] with `initial`; the later changes follow without a gap and without a
    /// duplicate.
    ///
    /// The function runs on the informer's task, and the cache waits for it: it should only pass events on. The first
    /// time that a delivery takes more than 100 ms is logged; a slow consumer reads a [`stream`](Self::stream)
    /// instead. A panic ends only the call: it is counted and logged, and the next event is delivered. The log and
    /// the metrics name the listener by the source line that added it. After the informer stopped, the function is
    /// dropped and never called.
    #[track_caller]
    pub fn add_listener(&self, function: impl FnMut(&Event<K>) + Send + 'static) -> Subscription {
        self.add_listener_with(ListenerOptions::new(), function)
    }

    /// Like [`add_listener`](Self::add_listener), for a program that adds many listeners on one source line: the log
    /// and the metrics use `name` instead. Each name creates metric series, so it must not come from objects.
    pub fn add_named_listener(
        &self,
        name: impl Into<Arc<str>>,
        function: impl FnMut(&Event<K>) + Send + 'static,
    ) -> Subscription {
        self.add_listener_with(ListenerOptions::new().named(name), function)
    }

    /// Like [`add_listener`](Self::add_listener), with a name or with resyncs.
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

    /// The changes from now on as a stream, for a slow consumer: events that were not read yet wait, at most one for
    /// each object, and the informer never waits for the stream. The stream begins with the objects in the cache,
    /// like a [listener](Self::add_listener).
    #[track_caller]
    pub fn stream(&self) -> EventStream<K> {
        self.stream_with(ListenerOptions::new())
    }

    /// Like [`stream`](Self::stream), with a name or with resyncs.
    #[track_caller]
    pub fn stream_with(&self, options: ListenerOptions) -> EventStream<K> {
        let name = options.name.unwrap_or_else(|| location(Location::caller()));
        let resync = options.resync.or(self.shared.resync);
        let metrics = self.shared.metrics.listener(&name);
        let (feeder, readiness, stream) = event_stream(metrics);
        let listeners = &self.shared.listeners;
        stream(listeners.add(name, Box::new(feeder), resync, Some(readiness)))
    }

    /// Like [`add_named_listener`](Self::add_named_listener), with the origin of each event.
    pub(crate) fn add_listener_with_origin(
        &self,
        name: impl Into<Arc<str>>,
        function: impl FnMut(&Event<K>, EventOrigin) + Send + 'static,
    ) -> Subscription {
        let (listeners, resync) = (&self.shared.listeners, self.shared.resync);
        listeners.add(
            name.into(),
            Box::new(HandlerWithOrigin(function)),
            resync,
            None,
        )
    }

    /// Adds an observer, which receives the changes from now on.
    pub(crate) fn observe(&self, name: &str, observer: impl CacheObserver<K>) -> Subscription {
        let listeners = &self.shared.listeners;
        listeners.add(name.into(), Box::new(ObserverHandler(observer)), None, None)
    }

    /// Notes that the program reads each object that arrives. Small objects are then decoded on the decode thread when they arrive, and not by whoever reads them.
    pub(crate) fn expect_reads(&self) {
        if let Some(encoded) = &self.shared.encoded {
            encoded.expect_reads();
        }
    }

    /// Whether an informer of metadata may read from this one, in place of the API server: what it stores is what the server sends.
    pub(in crate::cache) fn can_feed(&self) -> bool {
        let shared = &self.shared;
        let is_whole = shared.encoded.is_some() && !K::METADATA_ONLY;
        let is_plain = !shared.delta_fifo && shared.scope.namespaces.are_one();
        is_whole && is_plain && !self.has_ended()
    }

    /// Calls `function` with each failure of a list or a watch from now on: client-go's `SetWatchErrorHandler`.
    ///
    /// It is called for what the informer counts as a failure, each time that it occurs, also if the log shows it only
    /// once. What belongs to normal operation is no failure: a watch that ends, a connection that breaks, a resource
    /// version that expired. The informer tries again by itself, so the function needs to do nothing; it is for programs
    /// that want to know of a failure at once. [`status`](Self::status) returns the failure that lasts.
    ///
    /// The function runs on the informer's task and must be quick. A panic ends only the call: it is counted and logged.
    /// Several functions can be added; all are dropped when the informer ends.
    ///
    /// ```
    /// # use pilothouse::{cache::SharedInformer, k8s::api::core::v1::Secret};
    /// # fn example(secrets: SharedInformer<Secret>) {
    /// use tokio_util::sync::CancellationToken;
    ///
    /// let stop = CancellationToken::new();
    /// let stops = stop.clone();
    /// secrets.on_failure(move |failure| {
    ///     if failure.error.is_some_and(|error| error.is_forbidden()) {
    ///         eprintln!("{failure}");
    ///         stops.cancel();
    ///     }
    /// });
    /// # }
    /// ```
    pub fn on_failure(&self, function: impl Fn(&InformerFailure<'_>) + Send + Sync + 'static) {
        let function: FailureHandler = Arc::new(function);
        self.shared.failure_handlers.add(function);
        // The handlers of an informer that has ended would never be dropped. It may have ended just before the addition.
        if self.shared.stopped.is_cancelled() {
            self.shared.failure_handlers.clear();
        }
    }

    /// Lists again, from the server's newest state, and watches on from there. Objects that the list does not contain
    /// are delivered as deleted, as after every list.
    ///
    /// Normally nobody needs this: the informer knows itself when a list is needed. It is for a caller that knows
    /// that the cache must be wrong.
    pub fn relist(&self) {
        self.shared.relist.send_modify(|asked| *asked += 1);
    }

    /// Whether the cache is known to hold all changes that the API server had made by `moment`, or by any moment if
    /// it is `None`. A cache of another source only needs to have synced.
    pub(crate) fn is_consistent_since(&self, moment: Option<Instant>) -> bool {
        let shared = &self.shared;
        match shared.reads_api_server.load(Ordering::Relaxed) {
            true => shared.namespaces.are_consistent_since(moment),
            false => self.has_synced(),
        }
    }

    /// Reports that the cache holds all changes of `namespace` (`None` means all namespaces) that the API server had
    /// made by `moment`.
    pub(crate) fn became_consistent(&self, namespace: Option<&str>, moment: Instant) {
        self.shared.namespaces.became_consistent(namespace, moment);
    }

    /// Waits until no other caller is finding out whether the cache is up to date.
    pub(crate) async fn catching_up(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.shared.catching_up.acquire().await.ok()
    }

    /// Adds an index, before the informer runs or while it does. While it runs, its task fills the index with all
    /// objects in one step. The handle can be used at once and always gives the right answer: see [`IndexHandle`].
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
        if index.reads_objects() {
            self.expect_reads();
        }
        let handle = self.shared.lister.add_index(index);
        self.shared.listeners.notify();
        handle
    }

    /// Whether the first list has reached the store and all listeners of that time. Once `true`, it stays `true`.
    pub fn has_synced(&self) -> bool {
        self.shared.ready.borrow().eq(&ReadyState::Ready)
    }

    /// Waits until [`has_synced`](Self::has_synced). Any number of tasks can wait, and each of them is woken. Returns
    /// `false` if the informer stopped before that.
    pub async fn synced(&self) -> bool {
        self.readiness().wait().await
    }

    /// The same as a value that can be combined with others.
    pub fn readiness(&self) -> Readiness {
        let name = self.shared.resource.qualified_plural();
        Readiness::of(name, self.shared.ready.subscribe())
    }

    /// Waits until the informer has ended and its listeners are dropped. An informer that was never started ends with
    /// [`Informers::shutdown`](crate::cache::Informers::shutdown).
    pub async fn stopped(&self) {
        self.shared.stopped.cancelled().await;
    }

    /// The objects that are known not to decode, with the reasons. An object is decoded when somebody reads it for the first
    /// time, so an object that nobody has read is not among them. Each version that does not decode is logged and counted
    /// once.
    pub fn undecodable(&self) -> Vec<Arc<Undecodable>> {
        let snapshot = self.shared.lister.snapshot();
        if snapshot.undecodable() == 0 {
            return Vec::new();
        }
        let entries = snapshot.iter();
        let undecodable = entries.filter_map(|(_, entry)| entry.undecodable().cloned());
        undecodable.collect()
    }

    /// How the informer is doing. With several namespaces it reports the first problem.
    pub fn status(&self) -> InformerStatus {
        let shared = &self.shared;
        let snapshot = shared.lister.snapshot();
        let status = InformerStatus {
            resource: shared.resource.clone(),
            scope: shared.scope.clone(),
            synced: self.has_synced(),
            mode: shared.progress.mode(),
            last_error: None,
            not_served: false,
            forbidden: false,
            unhealthy_for: None,
            silent_for: None,
            objects: snapshot.len(),
            undecodable: snapshot.undecodable(),
            namespaces: Vec::new(),
            active_listener: shared.listeners.active_listener(),
        };
        shared.namespaces.complete(status)
    }

    /// The kind.
    pub fn resource(&self) -> &ApiResource {
        &self.shared.resource
    }

    /// Which objects of the kind.
    pub fn scope(&self) -> &InformerScope {
        &self.shared.scope
    }

    /// Ends the informer, whether it runs or not. When the end is complete, it has [stopped](Self::stopped).
    pub(in crate::cache) fn stop(&self) {
        self.shared.cancel.cancel();
        let work = self.shared.take_task();
        if work.is_some() {
            self.shared.end();
        }
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<K: Object> WholeObjects for SharedInformer<K> {
    fn feed(&self, feed: Arc<MetadataFeed>) -> Subscription {
        let feeder = MetadataFeeder::new(feed, self.lister());
        let listeners = &self.shared.listeners;
        listeners.add("metadata".into(), Box::new(feeder), None, None)
    }

    fn readiness(&self) -> Readiness {
        self.readiness()
    }

    fn has_problems(&self) -> bool {
        let status = self.status();
        status.last_error.is_some() || status.undecodable > 0
    }

    fn has_ended(&self) -> bool {
        // Its listeners are dropped between the two.
        self.shared.cancel.is_cancelled() || self.shared.stopped.is_cancelled()
    }
}

impl<K> InformerInner<K> {
    fn take_task(&self) -> Option<InformerTask<K>> {
        self.task.lock().take()
    }

    fn end(&self) {
        self.listeners.close();
        self.failure_handlers.clear();
        self.progress.stopped();
        self.namespaces.all().iter().for_each(|part| part.stopped());
        self.ready.send_if_modified(|ready| {
            let is_waited_for = *ready == ReadyState::Pending;
            if is_waited_for {
                *ready = ReadyState::Never;
            }
            is_waited_for
        });
        let mut series = self.series.lock();
        drop(series.take());
        drop(series);
        self.stopped.cancel();
    }
}

fn location(location: &Location<'_>) -> Arc<str> {
    format!("{}:{}", location.file(), location.line()).into()
}

/// Marks the end of an informer, however its future ends.
struct EndGuard<K>(Arc<InformerInner<K>>);

impl<K> Drop for EndGuard<K> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0
                .progress
                .failed_because("cache", "the task of the informer panicked");
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
