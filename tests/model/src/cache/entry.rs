//! The entries of a store, as shipped.

#[path = "../../../../framework/src/cache/entry/decoded_slot.rs"]
pub(super) mod decoded_slot;
#[path = "../../../../framework/src/cache/entry/entry.rs"]
mod entry;
#[path = "../../../../framework/src/cache/entry/failure_count.rs"]
mod failure_count;
#[path = "../../../../framework/src/cache/entry/packing.rs"]
mod packing;

use std::collections::BTreeMap;

pub(crate) use entry::Entry;
pub(super) use entry::IncomingObject;
pub(super) use failure_count::FailureCount;
pub(crate) use packing::{Packed, Packing};
pub(super) use shared_object::SharedObject;

use super::sync;

/// What the files need of the shipped module. No model shares objects between caches.
mod shared_object {
    use std::sync::Arc;

    use crate::resource::Object;

    pub(in crate::cache) enum SharedObject {
        Encoded(SharedBytes),
        Decoded(Arc<dyn HasMetadata>),
    }

    pub enum SharedBytes {}

    pub(in crate::cache) trait HasMetadata {}

    impl<K: Object> HasMetadata for K {}
}

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();
