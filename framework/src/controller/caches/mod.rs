//! The caches of the wired kinds, for predicates, mappings and contexts.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `wired_caches.rs` | [`WiredCaches`]: the listers and the declared indexes |
//! | `index_function.rs` | [`IndexFunction`]: the function that an index is declared and queried with |
//! | `owned.rs` | finds the children of an object, for the debug page |
//! | `lookup.rs` | [`Lookup`]: the caches, for mappings and predicates |

mod index_function;
mod lookup;
mod owned;
mod wired_caches;

pub use index_function::IndexFunction;
pub(crate) use index_function::index_id;
pub use lookup::Lookup;
pub(crate) use lookup::index_handle;
pub(crate) use owned::{FindChildren, FoundChild, find_children};
pub(crate) use wired_caches::WiredCaches;
