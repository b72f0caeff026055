//! From a CustomResourceDefinition to the source of Rust types.
//!
//! | file | holds |
//! | --- | --- |
//! | `definition.rs` | [`Definition`]: what the definition says, checked |
//! | `schema.rs` | questions to a schema |
//! | `types.rs` | the types of a version: one for each different object and enum of its schema |
//! | `names.rs` | the names of these types |
//! | `words.rs` | words of a name, and identifiers made of them |
//! | `docs.rs` | descriptions as comments |
//! | `attributes.rs` | `#[schema(..)]` for what the operator is going to define itself |
//! | `source.rs` | [`source()`]: the text |
//!
//! A generated type reads each object that fits the schema, apart from quantities that are numbers above `i32::MAX`, and writes what it has
//! read, apart from a null in a field that is not required: fields that are not required are an `Option`, so that
//! an empty list stays different from a missing one, and an applied object has only the fields that the program sets. What Rust has no type for
//! is a `serde_json::Value`, with a comment that says why.
//!
//! This folder uses no other part of the tool, because the build of `tests/imported` compiles it, too.

mod attributes;
mod definition;
mod docs;
mod names;
mod schema;
mod source;
mod types;
mod words;

pub(crate) use definition::{Definition, definitions, kinds};
pub(crate) use source::{Options, Source, source};

/// Why a definition cannot be imported: where in it, and what to do.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error("{definition}: {path}: {text}")]
pub(crate) struct Problem {
    /// The name of the definition, or its number among the documents.
    pub(crate) definition: String,
    /// The field, such as `spec.versions[0].name`.
    pub(crate) path: String,
    pub(crate) text: String,
}
