//! The objects of a cache: one writer changes them, any number of readers read them, and neither waits for the other.
//!
//! The writer changes a working copy. Publishing the copy is one atomic swap, so that readers see all changes of a batch
//! or none. Copies share everything that does not differ.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `store.rs` | [`Store`]: the writer's side |
//! | `lister.rs` | [`Lister`]: the reader's side |
//! | `listing.rs` | [`Listing`]: what a lister returns for several objects |
//! | `value_listing.rs` | [`ValueListing`]: what a lister returns for the values of an index |
//! | `snapshot.rs` | [`Snapshot`]: an immutable state, with its indexes |
//! | `table/` | the objects of one namespace in a snapshot |
//! | `overlay.rs` | [`Overlay`]: what one reader sees instead of the published state |
//! | `published.rs` | what the writer and the readers share |

mod lister;
mod listing;
mod overlay;
mod published;
mod snapshot;
mod store;
mod table;
mod value_listing;

#[cfg(test)]
mod store_test;
#[cfg(test)]
mod table_test;

pub use lister::Lister;
pub(crate) use lister::UndecodableRead;
pub use listing::Listing;
pub(crate) use overlay::Overlay;
pub use snapshot::Snapshot;
pub use store::Store;
pub use value_listing::ValueListing;
