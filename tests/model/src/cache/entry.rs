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

use super::sync;

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();
