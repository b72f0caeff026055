//! Expressions about a request: match conditions, and the expressions of policies.
//!
//! | file | what it does |
//! | --- | --- |
//! | `compiled.rs` | the expressions of a configuration, compiled |
//! | `scope.rs` | the variables of an expression, and the evaluation |
//! | `conditions.rs` | `matchConditions` |
//! | `decider.rs` | answers what expressions ask about permissions |

mod compiled;
mod conditions;
mod decider;
mod scope;

pub(super) use compiled::Expressions;
pub(super) use conditions::conditions_hold;
pub(super) use scope::{BUDGET, Failure, Scope};
