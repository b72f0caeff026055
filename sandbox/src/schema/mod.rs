//! Structural schemas: what a kind's objects look like, and what the server does with that knowledge.
//!
//! A [`Schema`] is read once, when a CRD is created or a built-in kind is first used, and shared from then on. It
//!
//! - drops the fields it does not know ([`Schema::prune`]),
//! - fills in defaults ([`Schema::apply_defaults`]),
//! - checks values and evaluates CEL rules ([`Schema::validate`]),
//! - tells strategic merge patch and server-side apply how lists and maps are merged.
//!
//! Schemas of CRDs come through [`Schema::from_json`], which refuses what the API server refuses, under the same field
//! names. Schemas of built-in kinds come through [`SchemaSet`]: they refer to one another by name and are read when they
//! are first needed, so that even a type that contains itself costs nothing until then.
//!
//! Not done here: validation that the API server implements in code for its built-in kinds.

mod cel;
mod check;
mod defaults;
mod embedded;
mod error;
mod format;
mod list_type;
mod meta;
mod node;
mod parse;
mod path;
#[cfg(test)]
mod properties;
mod prune;
mod rules;
mod set;
mod structural;
#[cfg(test)]
mod tests;
mod validate;

pub use error::{FieldError, FieldErrorKind};
pub use node::Schema;
pub use set::{SchemaSet, SchemaSetError};

pub(crate) use meta::object_meta;
pub(crate) use node::{ListType, MapType, Node, SchemaType};
