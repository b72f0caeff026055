//! The entries of a store, as shipped.

#[path = "../../../../framework/src/cache/entry/entry.rs"]
mod entry;
#[path = "../../../../framework/src/cache/entry/packing.rs"]
mod packing;

use std::collections::BTreeMap;

pub(crate) use entry::Entry;
pub(super) use entry::IncomingObject;
pub(crate) use packing::{Packed, Packing};

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();
