use std::{ops::Deref, sync::Arc};

use super::Snapshot;
use crate::cache::sync::Guard;

/// What one reader sees instead of the published state of a cache, for example with objects that it wrote itself and that the
/// cache does not have yet.
pub(crate) trait Overlay<K>: Send + Sync {
    /// The state that the reader sees. `published` itself, if there is nothing to change.
    fn over(&self, published: Arc<Snapshot<K>>) -> Arc<Snapshot<K>>;
}

/// The state that a reader sees during one read.
pub(super) enum SeenState<K> {
    Published(Guard<Arc<Snapshot<K>>>),
    Overlaid(Arc<Snapshot<K>>),
}

impl<K> Deref for SeenState<K> {
    type Target = Snapshot<K>;

    fn deref(&self) -> &Snapshot<K> {
        match self {
            Self::Published(state) => state,
            Self::Overlaid(state) => state,
        }
    }
}
