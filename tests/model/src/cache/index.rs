//! The indexes of a store, as shipped.

#[path = "../../../../framework/src/cache/index/by_value.rs"]
mod by_value;
#[path = "../../../../framework/src/cache/index/definition.rs"]
mod definition;
#[path = "../../../../framework/src/cache/index/filled.rs"]
mod filled;
#[path = "../../../../framework/src/cache/index/handle.rs"]
mod handle;
#[path = "../../../../framework/src/cache/index/index.rs"]
mod index;
#[path = "../../../../framework/src/cache/index/inverted.rs"]
mod inverted;
#[path = "../../../../framework/src/cache/index/owners.rs"]
mod owners;

use by_value::{KeysByValue, ValueList};
use definition::Definition;
pub(super) use filled::{AnyIndex, FilledIndex};
pub(crate) use handle::IndexHandle;
pub(crate) use index::Index;
use inverted::InvertedIndex;
pub(super) use owners::{OwnerIndex, OwnerUids};
