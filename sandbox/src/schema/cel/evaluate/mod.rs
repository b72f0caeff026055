//! Evaluates checked expressions, and counts what they cost.
//!
//! An evaluation ends when it costs too much. Errors are values: `&&` and `||` ignore an error if the other side decides.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `evaluation.rs` | the walk over an expression: variables, fields, lists, macros |
//! | `calls.rs` | calls, and the functions that this module implements itself |
//! | `operators.rs` | arithmetic and order |
//! | `constants.rs` | parts that are computed once, which cost nothing later |
//! | `errors.rs` | why an evaluation ended without a value |

mod calls;
mod constants;
mod errors;
mod evaluation;
mod operators;

pub(super) use calls::MAP_INSERT;
pub(super) use constants::{Constants, constants};
pub(in crate::schema) use errors::Stopped;
pub(super) use evaluation::{Evaluation, Outcome, Variable};
