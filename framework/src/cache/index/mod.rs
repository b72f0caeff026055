//! Indexes of a cache: those that users add, and the index by owner that each cache has.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `index.rs` | [`Index`]: how an index is declared |
//! | `handle.rs` | [`IndexHandle`]: what an index is queried with |
//! | `definition.rs` | the user's function, and how its failures are counted |
//! | `filled.rs` | [`FilledIndex`]: an index with its contents, and [`AnyIndex`] for any type of values |
//! | `inverted.rs`, `by_value.rs` | the persistent maps from values to keys |
//! | `owners.rs` | [`OwnerIndex`]: the index by owner |

mod by_value;
mod definition;
mod filled;
mod handle;
mod index;
mod inverted;
mod owners;

use by_value::{KeysByValue, ValueList};
use definition::Definition;
pub(super) use filled::{AnyIndex, FilledIndex};
pub use handle::IndexHandle;
pub use index::Index;
use inverted::InvertedIndex;
pub(super) use owners::{OwnerIndex, OwnerUids};
