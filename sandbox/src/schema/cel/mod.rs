//! The Common Expression Language of `x-kubernetes-validations` and of admission: what an expression may call, and how the server compiles it.
//!
//! The `cel` crate parses, and brings the standard functions. `schema/rule_evaluation.rs` evaluates the compiled rules over an
//! object, `api/admission/expressions` those about a request.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `compile.rs` | the compiler, with its limits |
//! | `declare.rs` | what a schema says about `self`: its type and its largest size |
//! | `typed.rs` | what a schema says about the objects of a request |
//! | `expression.rs`, `declarations.rs` | an expression about a request, and its variables |
//! | `authorizer.rs` | the variable `authorizer` |
//! | `made.rs` | objects and JSON patches that expressions make |
//! | `types.rs`, `values.rs` | types of expressions, and values |
//! | `check/` | the type checker |
//! | `cost/` | estimated and counted costs |
//! | `evaluate/` | the evaluation |
//! | `walk.rs` | the parts of an expression |
//! | `names.rs` | the check of variables where types are not known |
//! | `library.rs` | all functions together |
//! | `functions.rs` | helpers to declare a function |
//! | `macros.rs` | the macros with two variables |
//! | `collections.rs`, `formats.rs`, `network.rs`, `quantity.rs`, `regexes.rs`, `semver.rs`, `urls.rs` | Kubernetes' extension functions |

mod authorizer;
mod check;
mod collections;
mod compile;
mod cost;
mod declarations;
mod declare;
mod evaluate;
mod expression;
mod formats;
mod functions;
mod library;
mod macros;
mod made;
mod names;
mod network;
mod quantity;
mod regexes;
mod semver;
#[cfg(test)]
mod tests;
mod typed;
mod types;
mod urls;
mod values;
mod walk;

pub(crate) use authorizer::{Authorize, Question, authorizer};
pub(crate) use cel::Value as CelValue;
pub(crate) use compile::compile_expression;
pub(super) use compile::{Compiled, Purpose, compile};
pub(crate) use declarations::{Declarations, qualified};
pub(super) use declare::Declared;
pub(super) use evaluate::Stopped;
pub(crate) use expression::{Expression, Returns, to_cel};
pub(super) use library::{duration, timestamp};
pub(crate) use made::to_json;
pub(super) use values::optional;
