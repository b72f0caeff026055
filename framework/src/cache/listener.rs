use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{sync::watch, time::Instant as Now};

use super::{Event, Snapshot, follower::Reached, origin::Origin, readiness::Ready, resync::Resync};
use crate::{metrics::ListenerMetrics, resource::Object};

/// What a listener does with each event.
pub(super) trait Hear<K>: Send {
    fn hear(&mut self, event: &Event<K>, origin: Origin);

    /// All that the first list held was told.
    fn all_told(&mut self) {}

    /// A batch of changes was told, or the collection's version moved without any.
    fn batch_told(&mut self, snapshot: &Snapshot<K>, how: Reached) {
        let _ = (snapshot, how);
    }
}

impl<K, F: FnMut(&Event<K>) + Send> Hear<K> for F {
    fn hear(&mut self, event: &Event<K>, _: Origin) {
        self(event);
    }
}

/// A function that wants to know where an event comes from.
pub(super) struct WithOrigin<F>(pub(super) F);

impl<K, F: FnMut(&Event<K>, Origin) + Send> Hear<K> for WithOrigin<F> {
    fn hear(&mut self, event: &Event<K>, origin: Origin) {
        (self.0)(event, origin);
    }
}

/// Who hears of changes, and what its [`Subscription`](super::Subscription) sees of it.
///
/// Dropping it tells the subscription that it will not hear of anything again.
pub(super) struct Listener<K> {
    ear: Box<dyn Hear<K>>,
    name: Arc<str>,
    metrics: ListenerMetrics,
    removed: Arc<AtomicBool>,
    ready: watch::Sender<Ready>,
    was_slow: bool,
    resync: Option<Resync>,
}

/// What went wrong while a listener was told something.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) panics: u64,
    /// How long it took, if that was too long for the first time.
    pub(super) slow: Option<Duration>,
}

impl<K> Listener<K> {
    /// A listener that needs longer than this for what it is told at once holds its cache back.
    const SLOW: Duration = Duration::from_millis(100);

    pub(super) fn new(
        ear: Box<dyn Hear<K>>,
        name: Arc<str>,
        metrics: ListenerMetrics,
        removed: Arc<AtomicBool>,
        resync: Option<Resync>,
    ) -> Self {
        Self {
            ear,
            name,
            metrics,
            removed,
            ready: watch::Sender::new(Ready::NotYet),
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

    /// Whether it has heard of all that the first list held. The sender is gone when the listener is.
    pub(super) fn ready(&self) -> watch::Receiver<Ready> {
        self.ready.subscribe()
    }

    /// It has heard of all that the first list held.
    pub(super) fn all_told(&mut self) {
        if *self.ready.borrow() != Ready::Yes {
            self.ear.all_told();
            self.ready.send_replace(Ready::Yes);
            if let Some(resync) = &mut self.resync {
                resync.begin(Now::now());
            }
        }
    }

    /// When it is to be told again of what is there.
    pub(super) fn resync_due(&self) -> Option<Now> {
        self.resync.as_ref()?.due()
    }

    /// What it is to be told again now.
    pub(super) fn take_resync(&mut self, present: &Snapshot<K>) -> Vec<Event<K>>
    where
        K: Object,
    {
        let now = Now::now();
        let resync = self.resync.as_mut();
        let due = resync.filter(|resync| resync.due().is_some_and(|due| due <= now));
        due.map_or_else(Vec::new, |resync| resync.take(now, present))
    }

    /// All events so far were told; this is the state after them.
    pub(super) fn batch_told(&mut self, snapshot: &Snapshot<K>, how: Reached) {
        if !self.is_removed() {
            self.ear.batch_told(snapshot, how);
        }
    }

    /// Tells it `events`, unless it was removed. A panic ends only the call it comes from (design
    /// promise R10).
    pub(super) fn tell(&mut self, events: &[Event<K>], origin: Origin) -> Told {
        let mut told = Told::default();
        let begun = Instant::now();
        for event in events {
            if self.is_removed() {
                break;
            }
            let call = AssertUnwindSafe(|| self.ear.hear(event, origin));
            told.panics += u64::from(catch_unwind(call).is_err());
        }
        let took = begun.elapsed();
        self.metrics.duration.observe(took.as_secs_f64());
        if took > Self::SLOW && !std::mem::replace(&mut self.was_slow, true) {
            told.slow = Some(took);
        }
        told
    }
}
