use std::sync::Arc;

use super::lazy_shared::LazyShared;
use crate::{
    cache::Lister,
    resource::{Object, Undecodable},
};

/// The first object that a read of one call met and that does not decode. What the call made of the other objects may be too
/// little, so nothing is pruned after it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct UndecodableReads(LazyShared<Option<Arc<Undecodable>>>);

impl UndecodableReads {
    /// The same lister, whose reads are noted here.
    pub(super) fn note_reads_of<C: Object>(&self, lister: Lister<C>) -> Lister<C> {
        let first = self.0.share();
        lister.on_undecodable(move |object| {
            first.lock().get_or_insert_with(|| object.clone());
        })
    }

    pub(super) fn note(&self, object: &Arc<Undecodable>) {
        let mut first = self.0.get_or_make();
        first.get_or_insert_with(|| object.clone());
    }

    pub(super) fn first(&self) -> Option<Arc<Undecodable>> {
        self.0.get()?.clone()
    }
}
