//! How a new process knows that a child is as it was applied, without a request.
//!
//! The process that applied a child remembers the body and the resource version of the answer. After a restart
//! nobody remembers that, and the API server would get an apply of each child. Two facts together replace the memory:
//!
//! * The annotation [`APPLIED_ANNOTATION`] on the child is the hash of the *names* of all fields that the last apply
//!   wrote ([`field_set`]). It differs if the program writes a field more or a field less, so that server-side apply
//!   would remove a field.
//! * Every field of the body is equal in the cached child ([`comparison`]). This fails if somebody changed the child,
//!   and if the program writes another value.
//!
//! The hash covers no values. The comparison finds each other value, and a hash of values would let readers of the
//! metadata guess a short secret. The names of the fields are in `metadata.managedFields` anyway.
//!
//! A doubt leads to an apply, which costs one request and changes nothing.

mod comparison;
mod field_set;
mod place;
mod quantity;

pub(super) use comparison::contains;
pub(super) use field_set::field_set;

/// Annotation of every child that a [`Context`](super::Context) applies: a hash of the field manager, the API version and
/// the names of the fields that were applied.
///
/// The apply itself writes it, so it is no request of its own. It lets the next process see, together with a comparison of
/// the cached child, that the child needs no apply. Nobody else reads it: without the annotation, or with another
/// value, the child is applied once more.
pub const APPLIED_ANNOTATION: &str = "pilothouse.dev/applied";
