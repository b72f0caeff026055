//! The Common Expression Language of `x-kubernetes-validations`: what a rule may call, and how the server compiles it.
//!
//! `schema/rule_evaluation.rs` evaluates the compiled rules over an object.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `compile.rs` | the compiler, with its limits |
//! | `expression.rs` | an expression of admission, compiled and evaluated |
//! | `names.rs` | the check that every variable and function exists |
//! | `result.rs` | the check that a rule returns a boolean |
//! | `library.rs` | all functions together, and the functions that the `cel` crate brings |
//! | `functions.rs` | helpers to declare a function |
//! | `collections.rs`, `network.rs`, `quantity.rs`, `regexes.rs`, `urls.rs` | Kubernetes' extension functions |

mod collections;
mod compile;
mod expression;
mod functions;
mod library;
mod names;
mod network;
mod quantity;
mod regexes;
mod result;
#[cfg(test)]
mod tests;
mod urls;

pub(super) use cel::Program;
pub(crate) use cel::Value as CelValue;
pub(crate) use compile::compile_expression;
pub(super) use compile::{compile, env};
pub(crate) use expression::{Expression, cel_map, to_cel, uses_variable};
pub(super) use library::{duration, optional, timestamp};
pub(super) use result::is_boolean;
