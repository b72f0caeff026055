//! The JSON patch (RFC 6902) of a mutation.
//!
//! [`patch`] compares an object before and after the user's code, both as its Rust type writes it, and applies the difference to
//! the object that the API server sent. So a field that the type does not know stays as it is, and so does a default that the type
//! fills in while it reads.
//!
//! | file | holds |
//! | --- | --- |
//! | `changed.rs` | [`changed_parts`]: the parts of the objects that have to be compared |
//! | `difference.rs` | [`difference`]: the operations for two objects |
//! | `alignment.rs` | which items of two lists are the same item |
//! | `moves.rs` | which items of a list have moved |
//! | `reading.rs` | which item of a set the type has read from which item of a list |
//! | `operation.rs` | [`Operation`], and the escaping of its path |
//! | `apply.rs` | applies operations |

mod alignment;
mod apply;
mod changed;
mod difference;
mod moves;
mod operation;
mod reading;
#[cfg(test)]
mod tests;

pub(super) use apply::apply;
pub(super) use operation::Operation;

use changed::changed_parts;
use difference::difference;

/// The operations that make of `raw`, which the API server sent, what the user's code made of it. `before` and `after` are the
/// object as the Rust type writes it, before and after that code.
///
/// # Errors
/// What is wrong with a text, without a part of it.
pub(super) fn patch(raw: &str, before: &str, after: &str) -> Result<Vec<Operation>, String> {
    if before == after {
        return Ok(Vec::new());
    }
    let [raw, before, after] = changed_parts([raw, before, after])?;
    Ok(difference(&raw, &before, &after))
}
