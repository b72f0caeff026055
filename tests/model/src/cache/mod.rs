//! What a cache's writer and its readers share: what is published, and who waits for it.

#![allow(dead_code, unreachable_pub)]

// The files as they are shipped, under the names they have there.
#[path = "../../../../framework/src/cache/entry.rs"]
mod entry;
#[path = "../../../../framework/src/cache/incoming.rs"]
mod incoming;
mod index;
#[path = "../../../../framework/src/cache/lister.rs"]
mod lister;
#[path = "../../../../framework/src/cache/listing.rs"]
mod listing;
#[path = "../../../../framework/src/cache/owners.rs"]
mod owners;
#[path = "../../../../framework/src/cache/packed.rs"]
mod packed;
#[path = "../../../../framework/src/cache/packing.rs"]
mod packing;
#[path = "../../../../framework/src/cache/published.rs"]
mod published;
#[path = "../../../../framework/src/cache/readiness.rs"]
mod readiness;
#[path = "../../../../framework/src/cache/snapshot.rs"]
mod snapshot;
#[path = "../../../../framework/src/cache/store.rs"]
mod store;
mod sync;

mod publication;
mod waiting;

pub(crate) use entry::Entry;
use entry::NO_LABELS;
pub(crate) use index::{Index, IndexHandle};
pub(crate) use lister::Lister;
pub(crate) use listing::Listing;
pub(crate) use packed::Packed;
pub(crate) use packing::Packing;
pub(crate) use readiness::Readiness;
pub(crate) use snapshot::Snapshot;
pub(crate) use store::Store;
