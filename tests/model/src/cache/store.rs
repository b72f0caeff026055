//! The store, as shipped.

#[path = "../../../../framework/src/cache/store/lister.rs"]
mod lister;
#[path = "../../../../framework/src/cache/store/listing.rs"]
mod listing;
#[path = "../../../../framework/src/cache/store/published.rs"]
mod published;
#[path = "../../../../framework/src/cache/store/snapshot.rs"]
mod snapshot;
#[path = "../../../../framework/src/cache/store/store.rs"]
mod store;

pub(crate) use lister::Lister;
pub(crate) use listing::Listing;
pub(crate) use snapshot::Snapshot;
pub(crate) use store::Store;
