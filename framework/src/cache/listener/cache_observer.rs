use super::listener::EventHandler;
use crate::cache::{Event, EventOrigin, Snapshot};

/// Observes a cache from within the framework: its changes, and how far it is.
pub(crate) trait CacheObserver<K>: Send + 'static {
    /// Receives a change. Readers of the cache see it already.
    fn on_event(&mut self, event: &Event<K>);

    /// Receives the state after all events so far. Readers of the cache see it already.
    fn on_batch(&mut self, snapshot: &Snapshot<K>, info: BatchInfo);
}

/// How a cache came to its present state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchInfo {
    /// The server's resource versions went backwards: earlier ones mean nothing any more.
    pub(crate) went_back: bool,
    /// By a list, in part or completely: what was created and deleted between two states was not delivered.
    pub(crate) listed: bool,
    /// A list is in progress: the cache may have objects that are gone, and lack others.
    pub(crate) is_listing: bool,
}

/// A [`CacheObserver`] as a listener.
pub(in crate::cache) struct ObserverHandler<F>(pub(in crate::cache) F);

impl<K, F: CacheObserver<K>> EventHandler<K> for ObserverHandler<F> {
    fn handle(&mut self, event: &Event<K>, origin: EventOrigin) {
        if origin != EventOrigin::Existing {
            self.0.on_event(event);
        }
    }

    fn batch_delivered(&mut self, snapshot: &Snapshot<K>, info: BatchInfo) {
        self.0.on_batch(snapshot, info);
    }
}
