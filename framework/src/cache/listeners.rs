use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::{Duration, Instant},
};

use tokio::{
    sync::{Notify, watch},
    task::yield_now,
};

use super::{
    DeltaFifo, Entry, Event, Readiness, Snapshot, Store, Subscription,
    listener::{Hear, Listener, Told},
    origin::Origin,
    readiness::Ready,
    resync::Resync,
};
use crate::{
    metrics::InformerMetrics,
    resource::{ApiResource, Object},
};

/// The way of the listeners to the informer's task: they may come and go at any time.
pub(super) struct Listeners<K> {
    resource: ApiResource,
    metrics: InformerMetrics,
    joining: Mutex<Joining<K>>,
    changed: Notify,
    telling: Mutex<Option<Telling>>,
}

/// Listeners that the task has not taken in yet.
struct Joining<K> {
    listeners: Vec<Listener<K>>,
    closed: bool,
}

/// Who is told something just now.
struct Telling {
    name: Arc<str>,
    since: Instant,
}

impl<K: Object> Listeners<K> {
    pub(super) fn new(resource: ApiResource, metrics: InformerMetrics) -> Self {
        Self {
            resource,
            metrics,
            joining: Mutex::new(Joining {
                listeners: Vec::new(),
                closed: false,
            }),
            changed: Notify::new(),
            telling: Mutex::new(None),
        }
    }

    /// Adds a listener; `readiness` is its own idea of having heard of the first list, if it has one.
    pub(super) fn add(
        self: &Arc<Self>,
        name: Arc<str>,
        ear: Box<dyn Hear<K>>,
        resync: Option<Duration>,
        readiness: Option<watch::Receiver<Ready>>,
    ) -> Subscription {
        let removed = Arc::new(AtomicBool::new(false));
        let metrics = self.metrics.listener(&name);
        let resync = resync.filter(|period| !period.is_zero()).map(Resync::every);
        let listener = Listener::new(ear, name.clone(), metrics, removed.clone(), resync);
        let alive = listener.ready();
        let mut joining = lock(&self.joining);
        // After the end it is dropped, outside of the lock, with the function's own values.
        let late = if joining.closed {
            Some(listener)
        } else {
            joining.listeners.push(listener);
            None
        };
        drop(joining);
        drop(late);
        self.changed.notify_one();
        let listeners = Arc::downgrade(self);
        let detach = Arc::new(move |removed: &Arc<AtomicBool>| {
            if let Some(listeners) = listeners.upgrade() {
                listeners.detach(removed);
            }
        });
        let readiness = Readiness::of(name, readiness.unwrap_or_else(|| alive.clone()));
        Subscription::new(removed, alive, readiness, detach)
    }

    /// Something else than a listener came that the task has to take in.
    pub(super) fn look(&self) {
        self.changed.notify_one();
    }

    /// Waits until a listener, or something else, came or went.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Lets go of the removed listeners and takes in the new ones, each with all that is there.
    pub(super) async fn take_in(
        &self,
        listeners: &mut Vec<Listener<K>>,
        store: &Store<K>,
        has_synced: bool,
    ) {
        listeners.retain(|listener| !listener.is_removed());
        loop {
            let mut new = std::mem::take(&mut lock(&self.joining).listeners);
            if new.is_empty() {
                return;
            }
            let mut entries = store.working().iter().map(|(_, entry)| initial(entry));
            loop {
                let events: Vec<_> = entries.by_ref().take(DeltaFifo::<K>::BATCH).collect();
                if events.is_empty() {
                    break;
                }
                self.tell(&mut new, &events, Origin::Present);
                yield_now().await;
            }
            if has_synced {
                new.iter_mut().for_each(Listener::all_told);
            }
            listeners.append(&mut new);
        }
    }

    /// Tells those whose time has come a part of what is there.
    pub(super) fn resync(&self, listeners: &mut [Listener<K>], present: &Snapshot<K>) {
        for listener in listeners {
            let events = listener.take_resync(present);
            self.tell(std::slice::from_mut(listener), &events, Origin::List);
        }
    }

    /// Tells each of `listeners` all `events`.
    pub(super) fn tell(&self, listeners: &mut [Listener<K>], events: &[Event<K>], origin: Origin) {
        if events.is_empty() {
            return;
        }
        for listener in listeners {
            *lock(&self.telling) = Some(Telling {
                name: listener.name().clone(),
                since: Instant::now(),
            });
            let told = listener.tell(events, origin);
            *lock(&self.telling) = None;
            if told != Told::default() {
                self.metrics.listener_panics.inc_by(told.panics);
                log(&self.resource, listener.name(), told, events.len());
            }
        }
    }

    /// Who is told something just now, and since when.
    pub(super) fn telling(&self) -> Option<(Arc<str>, Duration)> {
        let telling = lock(&self.telling);
        let telling = telling.as_ref();
        telling.map(|telling| (telling.name.clone(), telling.since.elapsed()))
    }

    fn detach(&self, removed: &Arc<AtomicBool>) {
        let mut joining = lock(&self.joining);
        let waiting = &mut joining.listeners;
        let place = waiting.iter().position(|listener| listener.is(removed));
        let detached = place.map(|place| waiting.remove(place));
        drop(joining);
        drop(detached);
        self.changed.notify_one();
    }
}

impl<K> Listeners<K> {
    /// Lets go of those that were not taken in, and of all that come later.
    pub(super) fn close(&self) {
        let mut joining = lock(&self.joining);
        joining.closed = true;
        let listeners = std::mem::take(&mut joining.listeners);
        drop(joining);
        drop(listeners);
    }
}

fn log(resource: &ApiResource, name: &str, told: Told, events: usize) {
    if told.panics > 0 {
        tracing::error!(%resource, "the listener {name} panicked");
    }
    if let Some(took) = told.slow {
        let took = took.as_millis();
        tracing::warn!(
            %resource,
            "the listener {name} took {took} ms for {events} events, and its cache waits \
             for it: let it only pass on what it hears, or use a stream"
        );
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

/// What a panic leaves behind under these locks is whole: no code of others runs there.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
