//! What a store holds for one key.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `encoded_entry.rs` | [`EncodedEntry`](encoded_entry::EncodedEntry): an object as the API server sent it, which is decoded when it is read |
//! | `encoded_cache.rs` | [`EncodedCache`]: what the encoded objects of a cache share |
//! | `compression.rs` | [`Compression`](compression::Compression): makes the encoded objects of a cache smaller |
//! | `decoded_forms.rs` | [`DecodedForms`](decoded_forms::DecodedForms): which of them are decoded as well |
//! | `decoded_slot.rs` | the place of an object's decoded form |
//! | `entry.rs` | [`Entry`]: a decoded object, a packed one, or the place of one that does not decode; [`IncomingObject`]: a version on its way into the store |
//! | `failure_count.rs` | counts the objects that turn out not to decode |
//! | `packing.rs` | [`Packing`] and [`Packed`]: how objects are stored, if not decoded |
//! | `shared_object.rs` | [`SharedObject`]: an object that a cache of whole objects shares with a cache of their metadata |

mod compression;
mod decoded_forms;
mod decoded_slot;
mod encoded_cache;
mod encoded_entry;
mod entry;
mod failure_count;
mod packing;
mod shared_object;

#[cfg(test)]
mod encoded_test;

use std::collections::BTreeMap;

pub(super) use encoded_cache::EncodedCache;
pub use entry::Entry;
pub(super) use entry::IncomingObject;
pub(super) use failure_count::FailureCount;
pub use packing::{Packed, Packing};
pub(super) use shared_object::SharedObject;

use super::sync;

/// The labels of an object that has none.
static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();
