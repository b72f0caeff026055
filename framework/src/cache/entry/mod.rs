//! What a store holds for one key.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `entry.rs` | [`Entry`]: a decoded object, a packed one, or the place of one that does not decode; [`IncomingObject`]: a version on its way into the store |
//! | `awake_objects.rs` | [`AwakeObjects`]: objects that are stored encoded, and those of them that lie decoded as well |
//! | `packing.rs` | [`Packing`] and [`Packed`]: how objects are stored, if not decoded |

mod awake_objects;
mod entry;
mod packing;

use std::collections::BTreeMap;

pub(super) use awake_objects::AwakeObjects;
pub use entry::Entry;
pub(super) use entry::IncomingObject;
pub use packing::{Packed, Packing};

/// The labels of an object that has none.
static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();
