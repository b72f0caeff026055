//! How a new process knows, without a request, that a child is as it was applied.
//!
//! The process that applied a child remembers the body and the resource version of the answer. After a restart this memory
//! is lost, and the API server would get an apply of each child. Two facts together replace the memory:
//!
//! * The annotation [`APPLIED_ANNOTATION`] on the child is the hash of the *names* of all fields that the last apply
//!   wrote (`field_set`). It differs if the program writes a field more or a field less. In the second case
//!   server-side apply would remove a field.
//! * Every field of the body is equal in the cached child (`comparison`). This fails if somebody changed the child,
//!   and if the program writes another value.
//!
//! The hash does not cover values. The comparison finds each changed value, and a hash of values would let readers of the
//! metadata guess a short secret. The names of the fields are in `metadata.managedFields` anyway.
//!
//! In case of doubt the apply is sent. It costs one request and changes nothing.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `body_tree.rs` | the body of an apply, taken apart |
//! | `field_set.rs` | the hash of the names of the fields of a body |
//! | `comparison.rs` | whether a cached child has every field of a body |
//! | `place.rs` | how the server merges the field at a place in a body |
//! | `quantity.rs` | the amount of a quantity such as `500m` |

mod body_tree;
mod comparison;
mod field_set;
mod place;
mod quantity;

pub(crate) use comparison::contains;
pub(crate) use field_set::field_set;

/// Annotation on every child that a [`Context`](crate::controller::Context) applies: a hash of the field manager, the API
/// version and the names of the applied fields.
///
/// The apply itself writes it, so it needs no request of its own. It shows the next process, together with a comparison of
/// the cached child, that the child needs no apply. Nothing else reads it. Without the annotation, or with another value, the
/// child is applied once more.
pub const APPLIED_ANNOTATION: &str = "pilothouse.dev/applied";
