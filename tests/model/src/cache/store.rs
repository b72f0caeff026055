//! The store, as shipped.

#[path = "../../../../framework/src/cache/store/lister.rs"]
mod lister;
#[path = "../../../../framework/src/cache/store/listing.rs"]
mod listing;
#[path = "../../../../framework/src/cache/store/overlay.rs"]
mod overlay;
#[path = "../../../../framework/src/cache/store/published.rs"]
mod published;
#[path = "../../../../framework/src/cache/store/snapshot.rs"]
mod snapshot;
#[path = "../../../../framework/src/cache/store/store.rs"]
mod store;
#[path = "../../../../framework/src/cache/store/table/mod.rs"]
mod table;
#[path = "../../../../framework/src/cache/store/value_listing.rs"]
mod value_listing;

pub(crate) use lister::Lister;
pub(crate) use listing::Listing;
pub(crate) use snapshot::Snapshot;
pub(crate) use store::Store;
pub(crate) use value_listing::ValueListing;
