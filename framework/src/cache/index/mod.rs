//! Indexes that users add to a cache: how they are declared, filled and asked.

mod by_value;
mod definition;
mod filled;
mod handle;
mod index;
mod inverted;
mod keys;
mod values;

#[cfg(test)]
mod tests;

pub(super) use by_value::ByValue;
pub(super) use definition::Definition;
pub(super) use filled::{AnyIndex, Filled};
pub use handle::IndexHandle;
pub use index::Index;
use inverted::Inverted;
pub(super) use values::Values;
