use std::{
    fmt,
    hash::Hash,
    panic::Location,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use tokio::{sync::watch, task::yield_now};
use tokio_util::sync::CancellationToken;

use super::{
    DeltaQueue, Event, EventStream, Index, IndexHandle, InformerScope, InformerStatus, ListBudget,
    Lister, ListerWatcher, Readiness, Reflector, Store, Subscription, event_stream,
    listener::Listener, listeners::Listeners, processor::Processor, progress::Progress,
    readiness::Ready,
};
use crate::{
    metrics::InformerMetrics,
    resource::{ApiResource, Object, Undecodable},
};

/// A cache of one kind that is kept up to date, and that tells listeners what changes.
///
/// Everything of it happens in one task: a [`Reflector`] fills a [`DeltaQueue`]; what comes out of
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
    progress: Arc<Progress>,
    metrics: InformerMetrics,
    budget: ListBudget,
    ready: watch::Sender<Ready>,
    stopped: CancellationToken,
    listeners: Arc<Listeners<K>>,
    work: Mutex<Option<Work<K>>>,
}

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
        mut scope: InformerScope,
        metrics: InformerMetrics,
        budget: ListBudget,
    ) -> Self {
        scope.namespace = source.namespace().map(str::to_owned);
        let resource = source.resource().clone();
        let store = Store::new();
        let progress = Progress::new(resource.clone(), scope.namespace.clone(), metrics.clone());
        let shared = Shared {
            listeners: Arc::new(Listeners::new(resource.clone(), metrics.clone())),
            resource,
            scope,
            lister: store.lister(),
            progress: Arc::new(progress),
            metrics,
            budget,
            ready: watch::Sender::new(Ready::NotYet),
            stopped: CancellationToken::new(),
            work: Mutex::new(Some(Box::new(|shared| {
                Box::pin(shared.work(source, store))
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
            cancel.run_until_cancelled(work(shared)).await;
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
        self.add_named_listener(location(Location::caller()), function)
    }

    /// [`add_listener`](Self::add_listener) for those who add many on one line: `name` stands in the
    /// log and the metrics instead of the line. Each name makes series that stay: it must not come from objects.
    pub fn add_named_listener(
        &self,
        name: impl Into<Arc<str>>,
        function: impl FnMut(&Event<K>) + Send + 'static,
    ) -> Subscription {
        let listeners = &self.shared.listeners;
        listeners.add(name.into(), Box::new(function), None)
    }

    /// The changes from now on as a stream, for who takes its time: what was not taken yet is kept
    /// once per object, and the informer never waits for it. It begins with the objects
    /// that are there, as a [listener](Self::add_listener) does.
    #[track_caller]
    pub fn stream(&self) -> EventStream<K> {
        let name = location(Location::caller());
        let metrics = self.shared.metrics.listener(&name);
        let (feeder, readiness, stream) = event_stream::buffer(metrics);
        let listeners = &self.shared.listeners;
        stream(listeners.add(name, Box::new(feeder), Some(readiness)))
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
        *self.shared.ready.borrow() == Ready::Yes
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

    /// How the informer is doing.
    pub fn status(&self) -> InformerStatus {
        let shared = &self.shared;
        let snapshot = shared.lister.snapshot();
        InformerStatus {
            resource: shared.resource.clone(),
            scope: shared.scope.clone(),
            synced: self.has_synced(),
            mode: shared.progress.mode(),
            last_error: shared.progress.last_error(),
            not_served: shared.progress.not_served(),
            forbidden: shared.progress.forbidden(),
            silent_for: shared.progress.silent_for(),
            objects: snapshot.len(),
            undecodable: snapshot.undecodable(),
            telling: shared.listeners.telling(),
        }
    }

    /// The kind.
    pub fn resource(&self) -> &ApiResource {
        &self.shared.resource
    }

    /// Which objects of the kind.
    pub fn scope(&self) -> &InformerScope {
        &self.shared.scope
    }

    /// Ends an informer that will not run any more.
    pub(super) fn stop(&self) {
        drop(self.shared.take_work());
        self.shared.end();
    }
}

impl<K: Object> Shared<K> {
    async fn work<L: ListerWatcher<K>>(self: Arc<Self>, source: L, store: Store<K>) {
        let queue = DeltaQueue::new();
        let progress = self.progress.clone();
        let reflector =
            Reflector::with_progress(source, self.scope.clone(), progress, self.budget.clone());
        tokio::join!(
            reflector.run(&queue),
            self.process(Processor::new(store), &queue)
        );
    }

    async fn process(&self, mut processor: Processor<K>, queue: &DeltaQueue<K>) {
        let mut listeners = Vec::new();
        let has_synced = || *self.ready.borrow() == Ready::Yes;
        loop {
            processor.take_in_indexes();
            let arrivals = self
                .listeners
                .take_in(&mut listeners, processor.store(), has_synced());
            arrivals.await;
            // Both branches are safe to lose: nothing is taken out before it is returned.
            let batch = tokio::select! {
                biased;
                () = self.listeners.changed() => continue,
                batch = queue.pop() => batch,
            };
            let events = processor.process(batch);
            self.progress
                .processed(&events, processor.store().working());
            self.listeners.tell(&mut listeners, &events);
            drop(events);
            if queue.finish() && !has_synced() {
                self.ready.send_replace(Ready::Yes);
                listeners.iter_mut().for_each(Listener::all_told);
            }
            // A batch is work for milliseconds: others come first.
            yield_now().await;
        }
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
        self.ready.send_if_modified(|ready| {
            let is_waited_for = *ready == Ready::NotYet;
            if is_waited_for {
                *ready = Ready::Never;
            }
            is_waited_for
        });
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
