//! What happened to an object, and which changes lead to a reconcile.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `change.rs` | [`Change`]: one event as predicates and mappings see it |
//! | `predicate.rs` | [`Predicate`]: a filter on changes; predicates combine |
//! | `versions.rs` | [`Versions`]: the changes that an event stands for, decoded as far as needed |

mod change;
mod predicate;
mod versions;

pub use change::Change;
pub use predicate::Predicate;
pub(crate) use versions::{Version, Versions};
