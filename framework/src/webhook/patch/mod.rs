//! The JSON patch (RFC 6902) of a mutation.
//!
//! [`patch`] compares an object before and after the user's code, both as its Rust type writes it, and applies the difference to
//! the object that the API server sent. So a field that the type does not know stays as it is, and so does a default that the type
//! fills in while it reads.
//!
//! | file | holds |
//! | --- | --- |
//! | `difference.rs` | [`patch`]: the operations for two objects |
//! | `alignment.rs` | which items of two lists are the same item |
//! | `moves.rs` | which items of a list have moved |
//! | `reading.rs` | which item of a set the type has read from which item of a list |
//! | `operation.rs` | [`Operation`], and the escaping of its path |
//! | `apply.rs` | applies operations |

mod alignment;
mod apply;
mod difference;
mod moves;
mod operation;
mod reading;
#[cfg(test)]
mod tests;

pub(super) use apply::apply;
pub(super) use difference::patch;
pub(super) use operation::Operation;
