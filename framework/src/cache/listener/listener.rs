use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{sync::watch, time::Instant as Now};

use super::{cache_observer::BatchInfo, resync::ResyncSchedule};
use crate::{
    cache::{Event, EventOrigin, Snapshot, readiness::ReadyState},
    health::{CaughtPanic, catch_panic},
    metrics::ListenerMetrics,
    resource::Object,
};

/// What a listener does with each event.
pub(in crate::cache) trait EventHandler<K>: Send {
    fn handle(&mut self, event: &Event<K>, origin: EventOrigin);

    /// All objects of the first list were delivered. `is_listing` tells whether a later list is in progress.
    fn initial_list_delivered(&mut self, is_listing: bool) {
        _ = is_listing;
    }

    /// A batch of changes was delivered, or the collection's resource version changed without any.
    fn batch_delivered(&mut self, snapshot: &Snapshot<K>, info: BatchInfo) {
        let _ = (snapshot, info);
    }
}

impl<K, F: FnMut(&Event<K>) + Send> EventHandler<K> for F {
    fn handle(&mut self, event: &Event<K>, _: EventOrigin) {
        self(event);
    }
}

/// A function that also receives the origin of each event.
pub(in crate::cache) struct HandlerWithOrigin<F>(pub(in crate::cache) F);

impl<K, F: FnMut(&Event<K>, EventOrigin) + Send> EventHandler<K> for HandlerWithOrigin<F> {
    fn handle(&mut self, event: &Event<K>, origin: EventOrigin) {
        (self.0)(event, origin);
    }
}

/// A handler of events, and what its [`Subscription`](super::Subscription) sees of it.
///
/// Dropping it tells the subscription that the handler will not be called again.
pub(in crate::cache) struct Listener<K> {
    handler: Box<dyn EventHandler<K>>,
    name: Arc<str>,
    metrics: ListenerMetrics,
    removed: Arc<AtomicBool>,
    ready: watch::Sender<ReadyState>,
    was_slow: bool,
    resync: Option<ResyncSchedule>,
}

/// What went wrong while events were delivered to a listener.
#[derive(Debug, Default)]
pub(in crate::cache) struct Delivery {
    pub(super) panics: u64,
    pub(super) last_panic: Option<CaughtPanic>,
    /// How long the delivery took, if it was too slow for the first time.
    pub(super) slow: Option<Duration>,
}

impl<K> Listener<K> {
    /// A listener that takes longer for the events of one delivery slows its cache down.
    const SLOW: Duration = Duration::from_millis(100);

    pub(super) fn new(
        handler: Box<dyn EventHandler<K>>,
        name: Arc<str>,
        metrics: ListenerMetrics,
        removed: Arc<AtomicBool>,
        resync: Option<ResyncSchedule>,
    ) -> Self {
        Self {
            handler,
            name,
            metrics,
            removed,
            ready: watch::Sender::new(ReadyState::Pending),
            was_slow: false,
            resync,
        }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    pub(super) fn is(&self, removed: &Arc<AtomicBool>) -> bool {
        Arc::ptr_eq(&self.removed, removed)
    }

    /// Whether all objects of the first list were delivered. The sender is dropped with the listener.
    pub(super) fn ready(&self) -> watch::Receiver<ReadyState> {
        self.ready.subscribe()
    }

    /// Reports that all objects of the first list were delivered. `is_listing` tells whether a later list is in progress.
    pub(in crate::cache) fn initial_list_delivered(&mut self, is_listing: bool) {
        if *self.ready.borrow() != ReadyState::Ready {
            self.handler.initial_list_delivered(is_listing);
            self.ready.send_replace(ReadyState::Ready);
            if let Some(resync) = &mut self.resync {
                resync.begin(Now::now());
            }
        }
    }

    /// When the next part of a resync is due.
    pub(in crate::cache) fn resync_due(&self) -> Option<Now> {
        self.resync.as_ref()?.due()
    }

    /// The part of a resync that is due now.
    pub(super) fn take_resync(&mut self, present: &Snapshot<K>) -> Vec<Event<K>>
    where
        K: Object,
    {
        let now = Now::now();
        let resync = self.resync.as_mut();
        let due = resync.filter(|resync| resync.due().is_some_and(|due| due <= now));
        due.map_or_else(Vec::new, |resync| resync.take(now, present))
    }

    /// Reports that all events so far were delivered, and that `snapshot` is the state after them.
    pub(in crate::cache) fn batch_delivered(&mut self, snapshot: &Snapshot<K>, info: BatchInfo) {
        if !self.is_removed() {
            self.handler.batch_delivered(snapshot, info);
        }
    }

    /// Delivers `events`, unless the listener was removed. A panic ends only the call in which it happens (R10).
    pub(in crate::cache) fn deliver(
        &mut self,
        events: &[Event<K>],
        origin: EventOrigin,
    ) -> Delivery {
        let mut delivery = Delivery::default();
        let begun = Instant::now();
        for event in events {
            if self.is_removed() {
                break;
            }
            if let Err(panic) = catch_panic(|| self.handler.handle(event, origin)) {
                delivery.panics += 1;
                delivery.last_panic = Some(panic);
            }
        }
        let took = begun.elapsed();
        self.metrics.duration.observe(took.as_secs_f64());
        if took > Self::SLOW && !std::mem::replace(&mut self.was_slow, true) {
            delivery.slow = Some(took);
        }
        delivery
    }
}
