use std::{
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    task::yield_now,
};

use super::{
    Subscription,
    listener::{Delivery, EventHandler, Listener},
    resync::ResyncSchedule,
};
use crate::{
    cache::{Event, EventOrigin, Readiness, RealFifo, Snapshot, Store, readiness::ReadyState},
    metrics::InformerMetrics,
    resource::{ApiResource, Object},
};

/// How listeners come to the informer's task: they can be added and removed at any time.
pub(in crate::cache) struct Listeners<K> {
    resource: ApiResource,
    metrics: InformerMetrics,
    new_listeners: Mutex<NewListeners<K>>,
    changed: Notify,
    running_call: Mutex<Option<RunningCall>>,
}

/// Listeners that the task has not admitted yet.
struct NewListeners<K> {
    listeners: Vec<Listener<K>>,
    closed: bool,
}

/// The listener whose function is running now.
struct RunningCall {
    name: Arc<str>,
    since: Instant,
}

impl<K: Object> Listeners<K> {
    pub(in crate::cache) fn new(resource: ApiResource, metrics: InformerMetrics) -> Self {
        Self {
            resource,
            metrics,
            new_listeners: Mutex::new(NewListeners {
                listeners: Vec::new(),
                closed: false,
            }),
            changed: Notify::new(),
            running_call: Mutex::new(None),
        }
    }

    /// Adds a listener. `readiness` replaces the listener's own readiness, if it is given.
    pub(in crate::cache) fn add(
        self: &Arc<Self>,
        name: Arc<str>,
        handler: Box<dyn EventHandler<K>>,
        resync: Option<Duration>,
        readiness: Option<watch::Receiver<ReadyState>>,
    ) -> Subscription {
        let removed = Arc::new(AtomicBool::new(false));
        let metrics = self.metrics.listener(&name);
        let resync = resync
            .filter(|period| !period.is_zero())
            .map(ResyncSchedule::every);
        let listener = Listener::new(handler, name.clone(), metrics, removed.clone(), resync);
        let alive = listener.ready();
        let mut new_listeners = self.new_listeners.lock();
        // After the end the listener is dropped outside of the lock, together with what its function owns.
        let late = if new_listeners.closed {
            Some(listener)
        } else {
            new_listeners.listeners.push(listener);
            None
        };
        drop(new_listeners);
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

    /// Wakes the task because something other than a listener was added.
    pub(in crate::cache) fn notify(&self) {
        self.changed.notify_one();
    }

    /// Waits until a listener was added or removed, or until something else was added.
    pub(in crate::cache) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Drops the removed listeners and admits the new ones; each new one receives all objects first.
    pub(in crate::cache) async fn admit(
        &self,
        listeners: &mut Vec<Listener<K>>,
        store: &Store<K>,
        has_synced: bool,
        is_listing: bool,
    ) {
        listeners.retain(|listener| !listener.is_removed());
        loop {
            let mut new = std::mem::take(&mut self.new_listeners.lock().listeners);
            if new.is_empty() {
                return;
            }
            let objects = store.working().iter();
            let mut existing = objects.map(|(_, entry)| Event::Added {
                object: entry.clone(),
                initial: true,
            });
            loop {
                let events: Vec<_> = existing.by_ref().take(RealFifo::<K>::BATCH).collect();
                if events.is_empty() {
                    break;
                }
                self.deliver(&mut new, &events, EventOrigin::Existing);
                yield_now().await;
            }
            if has_synced {
                new.iter_mut()
                    .for_each(|listener| listener.initial_list_delivered(is_listing));
            }
            listeners.append(&mut new);
        }
    }

    /// Delivers the parts of resyncs that are due.
    pub(in crate::cache) fn resync(&self, listeners: &mut [Listener<K>], present: &Snapshot<K>) {
        for listener in listeners {
            let events = listener.take_resync(present);
            self.deliver(std::slice::from_mut(listener), &events, EventOrigin::List);
        }
    }

    /// Delivers all `events` to each of `listeners`.
    pub(in crate::cache) fn deliver(
        &self,
        listeners: &mut [Listener<K>],
        events: &[Event<K>],
        origin: EventOrigin,
    ) {
        if events.is_empty() {
            return;
        }
        for listener in listeners {
            *self.running_call.lock() = Some(RunningCall {
                name: listener.name().clone(),
                since: Instant::now(),
            });
            let span = tracing::trace_span!(
                "deliver",
                resource = %self.resource,
                listener = &**listener.name(),
                events = events.len(),
            );
            let delivery = span.in_scope(|| listener.deliver(events, origin));
            *self.running_call.lock() = None;
            if delivery.panics > 0 || delivery.slow.is_some() {
                self.metrics.listener_panics.inc_by(delivery.panics);
                log(&self.resource, listener.name(), delivery, events.len());
            }
        }
    }

    /// The listener whose function is running now, and for how long.
    pub(in crate::cache) fn active_listener(&self) -> Option<(Arc<str>, Duration)> {
        let running_call = self.running_call.lock();
        let running_call = running_call.as_ref();
        running_call.map(|running_call| (running_call.name.clone(), running_call.since.elapsed()))
    }

    fn detach(&self, removed: &Arc<AtomicBool>) {
        let mut new_listeners = self.new_listeners.lock();
        let waiting = &mut new_listeners.listeners;
        let place = waiting.iter().position(|listener| listener.is(removed));
        let detached = place.map(|place| waiting.remove(place));
        drop(new_listeners);
        drop(detached);
        self.changed.notify_one();
    }
}

impl<K> Listeners<K> {
    /// Drops the listeners that were not admitted, and all that are added later.
    pub(in crate::cache) fn close(&self) {
        let mut new_listeners = self.new_listeners.lock();
        new_listeners.closed = true;
        let listeners = std::mem::take(&mut new_listeners.listeners);
        drop(new_listeners);
        drop(listeners);
    }
}

fn log(resource: &ApiResource, name: &str, delivery: Delivery, events: usize) {
    if let Some(panic) = delivery.last_panic {
        let panics = delivery.panics;
        tracing::error!(%resource, panics, "the listener {name} panicked: {panic}");
    }
    if let Some(took) = delivery.slow {
        let took = took.as_millis();
        tracing::warn!(
            %resource,
            "the listener {name} took {took} ms for {events} events, and the cache \
             waited for it: let the listener only pass events on, or use a stream"
        );
    }
}
