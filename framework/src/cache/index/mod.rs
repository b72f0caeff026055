//! Indexes that users add to a cache: how they are declared, filled and asked.

mod definition;
mod filled;
mod handle;
mod index;
mod inverted;
mod keys;

#[cfg(test)]
mod tests;

pub(super) use definition::Definition;
pub(super) use filled::{AnyIndex, Filled};
pub use handle::IndexHandle;
pub use index::Index;
pub(super) use inverted::Inverted;
