use std::fmt;
use std::sync::Arc;

use crate::store::Saved;

/// The objects of a [`Sandbox`](crate::Sandbox) at one moment. Clones share them.
#[derive(Clone)]
pub struct Snapshot(pub(super) Arc<Saved>);

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}
