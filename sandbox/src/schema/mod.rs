//! Structural schemas: the form of a kind's objects, and what the server does with it.
//!
//! A [`Schema`] is read once, when a CRD is created or a built-in kind is first used, and then shared. It
//!
//! - drops unknown fields ([`Schema::prune`]),
//! - fills in defaults ([`Schema::apply_defaults`]),
//! - checks values and evaluates CEL rules ([`Schema::validate`]),
//! - tells strategic merge patch and server-side apply how lists and maps are merged.
//!
//! [`Schema::from_json`] reads the schema of a CRD, and refuses what the API server refuses, with the same field names. [`SchemaSet`] holds the schemas
//! of built-in kinds: they refer to one another by name and are read when they are first needed, so that a type that
//! contains itself costs nothing until then.
//!
//! Validation that the API server implements in code for its built-in kinds is in `builtin/validate`.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `node.rs` | [`Schema`], its nodes and their value validations |
//! | `operations.rs` | what a schema does to an object |
//! | `parse.rs` | reads JSON into nodes |
//! | `structural/` | the checks of a CRD's schema |
//! | `set.rs` | [`SchemaSet`] |
//! | `prune.rs`, `defaults.rs`, `validate.rs`, `embedded.rs`, `list_type.rs` | the operations, one each |
//! | `correlated.rs` | which parts of an object an update leaves unchanged |
//! | `format.rs`, `pattern.rs` | formats, regular expressions |
//! | `rule.rs`, `rule_values.rs`, `rule_evaluation.rs` | a compiled CEL rule: its values, its evaluation |
//! | `cel/` | the CEL compiler, its type checker, its costs, its evaluation and its functions |
//! | `error.rs`, `path.rs`, `meta.rs` | field errors, their paths, the schema of `metadata` |

mod cel;
mod correlated;
mod defaults;
mod embedded;
mod error;
mod format;
mod list_type;
mod meta;
mod node;
mod operations;
mod parse;
mod path;
mod pattern;
#[cfg(test)]
mod properties;
mod prune;
mod rule;
mod rule_evaluation;
mod rule_values;
mod set;
mod structural;
#[cfg(test)]
mod tests;
mod validate;

pub(crate) use cel::{
    Authorize, CelValue, Declarations, Expression, Question, Returns, authorizer,
    compile_expression, qualified, to_cel, to_json,
};
pub(crate) use error::{FieldError, FieldErrorKind};
pub use node::Schema;
pub(crate) use set::SchemaSet;

pub(crate) use meta::object_meta;
pub(crate) use node::{ListType, MapType, Node, SchemaType};
pub(crate) use operations::Written;
