//! Where the informers of [`Informers`](crate::cache::Informers) read.
//!
//! An informer reads the API server. An informer of [metadata](crate::cache::Informers::metadata) reads from the informer of the
//! whole objects in place of it, as long as there is one with the same scope:
//!
//! ```text
//! API server → informer of whole objects → MetadataFeed → Reflector of the informer of metadata
//! ```
//!
//! The feed answers a list with the objects that the other cache holds, and a watch with the changes that this cache
//! has applied. So each kind of failure is handled where it is handled for the API server, in the reflector. The reader copies
//! the metadata, so that it keeps nothing of the other cache.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `encoded_source.rs` | [`EncodedSource`]: the source whose objects are decoded when they are read |
//! | `shared_watch.rs` | [`SharedWatch`]: when an informer of metadata reads from another informer, and when it does not |
//! | `metadata_feed.rs` | [`MetadataFeed`]: what the other informer has for it; a state machine without tasks and time |
//! | `metadata_feeder.rs` | [`MetadataFeeder`]: the listener of the other informer that fills the feed |

mod encoded_source;
mod metadata_feed;
mod metadata_feeder;
mod shared_watch;

#[cfg(test)]
mod metadata_feed_test;

pub(super) use encoded_source::EncodedSource;
pub(super) use metadata_feed::MetadataFeed;
pub(super) use metadata_feeder::MetadataFeeder;
pub(super) use shared_watch::{SharedWatch, WholeObjects};
