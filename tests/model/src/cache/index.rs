//! The indexes of a store, as they are shipped.

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
#[path = "../../../../framework/src/cache/index/keys.rs"]
mod keys;
#[path = "../../../../framework/src/cache/index/values.rs"]
mod values;

pub(super) use by_value::ByValue;
pub(super) use definition::Definition;
pub(super) use filled::{AnyIndex, Filled};
pub(crate) use handle::IndexHandle;
pub(crate) use index::Index;
use inverted::Inverted;
pub(super) use values::Values;
