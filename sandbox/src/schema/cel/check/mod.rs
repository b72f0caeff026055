//! The type checker: what the server's compiler refuses when a CustomResourceDefinition is created.
//!
//! The rules of the types are those of the checker in cel-go, so that the texts of errors are the same.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `checker.rs` | the walk over an expression |
//! | `calls.rs` | which overloads of a function a call may mean |
//! | `unify.rs` | types that are not known at first |
//! | `overloads.rs` | the signatures of all functions |
//! | `literals.rs` | literals that cannot be right: dates, durations, patterns, mixed lists |
//! | `issues.rs` | errors and how they are shown |

mod calls;
mod checker;
mod issues;
mod literals;
mod overloads;
mod unify;

pub(super) use checker::{Checked, check};
pub(super) use issues::show;
pub(super) use overloads::{is_function, named_type};
