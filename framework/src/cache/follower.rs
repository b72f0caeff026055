use super::{Event, Snapshot, listener::Hear, origin::Origin};

/// What follows a cache from within the framework: its changes, and how far it is.
pub(crate) trait Follow<K>: Send + 'static {
    /// A change, after it can be read.
    fn hear(&mut self, event: &Event<K>);

    /// The state after all that was heard so far, after it can be read. `went_back`: the server has
    /// lost versions that it had given out, so that those of before mean nothing any more.
    fn reached(&mut self, snapshot: &Snapshot<K>, went_back: bool);
}

/// A [`Follow`] among the listeners.
pub(super) struct Follower<F>(pub(super) F);

impl<K, F: Follow<K>> Hear<K> for Follower<F> {
    fn hear(&mut self, event: &Event<K>, origin: Origin) {
        if origin != Origin::Present {
            self.0.hear(event);
        }
    }

    fn batch_told(&mut self, snapshot: &Snapshot<K>, went_back: bool) {
        self.0.reached(snapshot, went_back);
    }
}
