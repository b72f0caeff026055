//! The writer and the readers of a cache: the published state, and the tasks that wait until a cache is ready.

#![allow(dead_code, unreachable_pub)]

// The files as shipped, under their own names.
mod entry;
mod index;
#[path = "../../../../framework/src/cache/readiness.rs"]
mod readiness;
mod store;
mod sync;

mod decoding;
mod publication;
mod waiting;

pub(crate) use entry::{Entry, Packing};
pub(crate) use index::{Index, IndexHandle};
pub(crate) use readiness::Readiness;
pub(crate) use store::{Snapshot, Store};

/// Which objects a cache holds. The caches of the models hold all.
#[derive(Clone)]
pub(crate) struct InformerScope;

impl InformerScope {
    pub(crate) fn is_whole(&self) -> bool {
        true
    }

    pub(crate) fn has_selector(&self) -> bool {
        false
    }
}
