use std::{
    panic::{AssertUnwindSafe, Location, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::watch;

use super::Event;

/// What is called with each event.
pub(super) type Function<K> = Box<dyn FnMut(&Event<K>) + Send>;

/// A function that hears of changes, and what its [`Subscription`](super::Subscription) sees of it.
///
/// Dropping it tells the subscription that the function will not run again.
pub(super) struct Listener<K> {
    function: Function<K>,
    location: &'static Location<'static>,
    removed: Arc<AtomicBool>,
    ready: watch::Sender<bool>,
}

impl<K> Listener<K> {
    pub(super) fn new(
        function: Function<K>,
        location: &'static Location<'static>,
        removed: Arc<AtomicBool>,
    ) -> Self {
        Self {
            function,
            location,
            removed,
            ready: watch::Sender::new(false),
        }
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    pub(super) fn is(&self, removed: &Arc<AtomicBool>) -> bool {
        Arc::ptr_eq(&self.removed, removed)
    }

    pub(super) fn readiness(&self) -> watch::Receiver<bool> {
        self.ready.subscribe()
    }

    /// The function has heard of all that the first list held.
    pub(super) fn set_ready(&self) {
        self.ready
            .send_if_modified(|ready| !std::mem::replace(ready, true));
    }

    /// Calls the function, unless it was removed. A panic ends only this call (design promise R10).
    pub(super) fn call(&mut self, event: &Event<K>) -> Result<(), Panicked> {
        if self.is_removed() {
            return Ok(());
        }
        let function = AssertUnwindSafe(|| (self.function)(event));
        catch_unwind(function).map_err(|_| Panicked(self.location))
    }
}

/// A listener panicked; it was added there.
pub(super) struct Panicked(pub(super) &'static Location<'static>);
