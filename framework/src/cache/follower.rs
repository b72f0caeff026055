use super::{Event, Snapshot, listener::Hear, origin::Origin};

/// What follows a cache from within the framework: its changes, and how far it is.
pub(crate) trait Follow<K>: Send + 'static {
    /// A change, after it can be read.
    fn hear(&mut self, event: &Event<K>);

    /// The state after all that was heard so far, after it can be read.
    fn reached(&mut self, snapshot: &Snapshot<K>, how: Reached);
}

/// How a cache came to its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    /// The server has lost versions that it had given out, so that those of before mean nothing any more.
    pub(crate) went_back: bool,
    /// By a list, in part or in whole: what came and went between two states was not told.
    pub(crate) listed: bool,
}

/// A [`Follow`] among the listeners.
pub(super) struct Follower<F>(pub(super) F);

impl<K, F: Follow<K>> Hear<K> for Follower<F> {
    fn hear(&mut self, event: &Event<K>, origin: Origin) {
        if origin != Origin::Present {
            self.0.hear(event);
        }
    }

    fn batch_told(&mut self, snapshot: &Snapshot<K>, how: Reached) {
        self.0.reached(snapshot, how);
    }
}
