use std::{
    fmt,
    hash::Hash,
    panic::Location,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{Notify, watch},
    task::yield_now,
};
use tokio_util::sync::CancellationToken;

use super::{
    DeltaFifo, DeltaQueue, Entry, Event, Index, IndexHandle, InformerScope, InformerStatus, Lister,
    ListerWatcher, Reflector, Store, Subscription,
    listener::{Listener, Panicked},
    processor::Processor,
    progress::Progress,
};
use crate::{
    metrics::InformerMetrics,
    resource::{ApiResource, Object},
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
    life: watch::Sender<Life>,
    joining: Mutex<Joining<K>>,
    joined: Notify,
    work: Mutex<Option<Work<K>>>,
}

type Work<K> = Box<dyn FnOnce(Arc<Shared<K>>) -> BoxFuture<'static, ()> + Send>;

#[derive(Clone, Copy, Default)]
struct Life {
    synced: bool,
    stopped: bool,
}

/// Listeners that the task has not taken in yet.
struct Joining<K> {
    listeners: Vec<Listener<K>>,
    closed: bool,
}

impl<K: Object> SharedInformer<K> {
    /// An informer of what `source` gives. It does nothing until it [runs](Self::run).
    ///
    /// The selectors are those of `scope`; the namespace is that of `source`.
    pub fn new<L: ListerWatcher<K>>(
        source: L,
        mut scope: InformerScope,
        metrics: InformerMetrics,
    ) -> Self {
        scope.namespace = source.namespace().map(str::to_owned);
        let resource = source.resource().clone();
        let store = Store::new();
        let progress = Progress::new(resource.clone(), scope.namespace.clone(), metrics);
        let shared = Shared {
            resource,
            scope,
            lister: store.lister(),
            progress: Arc::new(progress),
            life: watch::Sender::new(Life::default()),
            joining: Mutex::new(Joining {
                listeners: Vec::new(),
                closed: false,
            }),
            joined: Notify::new(),
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
        let work = lock(&shared.work).take();
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
    /// A panic of the function ends only the call: it is counted and logged with the line that
    /// added the listener, and the next event is told. After the informer stopped, the function is
    /// dropped and never called.
    #[track_caller]
    pub fn add_listener(&self, function: impl FnMut(&Event<K>) + Send + 'static) -> Subscription {
        let removed = Arc::new(AtomicBool::new(false));
        let listener = Listener::new(Box::new(function), Location::caller(), removed.clone());
        let readiness = listener.readiness();
        let mut joining = lock(&self.shared.joining);
        // After the end it is dropped, outside of the lock, with the function's own values.
        let late = if joining.closed {
            Some(listener)
        } else {
            joining.listeners.push(listener);
            None
        };
        drop(joining);
        drop(late);
        self.shared.joined.notify_one();
        let shared = Arc::downgrade(&self.shared);
        let detach = Arc::new(move |removed: &Arc<AtomicBool>| {
            if let Some(shared) = shared.upgrade() {
                shared.detach(removed);
            }
        });
        Subscription::new(removed, readiness, detach)
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
        self.shared.joined.notify_one();
        handle
    }

    /// Whether the first list has reached the store and all listeners of that time. It stays so.
    pub fn has_synced(&self) -> bool {
        self.shared.life.borrow().synced
    }

    /// Waits until [`has_synced`](Self::has_synced); any number may wait, and all are woken.
    /// `false` if the informer stopped before that.
    pub async fn synced(&self) -> bool {
        let mut life = self.shared.life.subscribe();
        let life = life.wait_for(|life| life.synced || life.stopped).await;
        life.is_ok_and(|life| life.synced)
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
            silent_for: shared.progress.silent_for(),
            objects: snapshot.len(),
            undecodable: snapshot.undecodable(),
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
        drop(lock(&self.shared.work).take());
        self.shared.end();
    }
}

impl<K: Object> Shared<K> {
    async fn work<L: ListerWatcher<K>>(self: Arc<Self>, source: L, store: Store<K>) {
        let queue = DeltaQueue::new();
        let progress = self.progress.clone();
        let reflector = Reflector::with_progress(source, self.scope.clone(), progress);
        tokio::join!(
            reflector.run(&queue),
            self.process(Processor::new(store), &queue)
        );
    }

    async fn process(&self, mut processor: Processor<K>, queue: &DeltaQueue<K>) {
        let mut listeners = Vec::new();
        loop {
            processor.take_in_indexes();
            self.take_in(&mut listeners, processor.store()).await;
            // Both branches are safe to lose: nothing is taken out before it is returned.
            let batch = tokio::select! {
                biased;
                () = self.joined.notified() => continue,
                batch = queue.pop() => batch,
            };
            let events = processor.process(batch);
            self.progress
                .processed(&events, processor.store().working());
            for listener in &mut listeners {
                for event in &events {
                    self.tell(listener, event);
                }
            }
            drop(events);
            if queue.finish() && !self.life.borrow().synced {
                self.life.send_modify(|life| life.synced = true);
                listeners.iter().for_each(Listener::set_ready);
            }
            // A batch is work for milliseconds: others come first.
            yield_now().await;
        }
    }

    /// Lets go of the removed listeners and takes in the new ones, each with all that is there.
    async fn take_in(&self, listeners: &mut Vec<Listener<K>>, store: &Store<K>) {
        listeners.retain(|listener| !listener.is_removed());
        loop {
            let mut new = std::mem::take(&mut lock(&self.joining).listeners);
            if new.is_empty() {
                return;
            }
            for (number, (_, entry)) in store.working().iter().enumerate() {
                let event = initial(entry);
                for listener in &mut new {
                    self.tell(listener, &event);
                }
                if (number + 1) % DeltaFifo::<K>::BATCH == 0 {
                    yield_now().await;
                }
            }
            if self.life.borrow().synced {
                new.iter().for_each(Listener::set_ready);
            }
            listeners.append(&mut new);
        }
    }

    fn tell(&self, listener: &mut Listener<K>, event: &Event<K>) {
        if let Err(Panicked(location)) = listener.call(event) {
            self.progress.listener_panicked(location);
        }
    }

    fn detach(&self, removed: &Arc<AtomicBool>) {
        let mut joining = lock(&self.joining);
        let mut waiting = std::mem::take(&mut joining.listeners);
        let place = waiting.iter().position(|listener| listener.is(removed));
        let detached = place.map(|place| waiting.remove(place));
        joining.listeners = waiting;
        drop(joining);
        drop(detached);
        self.joined.notify_one();
    }
}

impl<K> Shared<K> {
    fn end(&self) {
        let mut joining = lock(&self.joining);
        joining.closed = true;
        let listeners = std::mem::take(&mut joining.listeners);
        drop(joining);
        drop(listeners);
        self.progress.stopped();
        self.life.send_modify(|life| life.stopped = true);
    }
}

fn initial<K: Object>(entry: &Entry<K>) -> Event<K> {
    match entry.object() {
        Ok(object) => Event::Added {
            object,
            initial: true,
        },
        Err(object) => Event::Undecodable {
            object,
            last: entry.last_object(),
        },
    }
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

/// What a panic leaves behind under these locks is whole: no code of others runs there.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
