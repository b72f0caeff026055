//! Expressions about a request: match conditions, and the expressions of policies.
//!
//! | file | what it does |
//! | --- | --- |
//! | `scope.rs` | the variables of an expression, and the evaluation |
//! | `conditions.rs` | `matchConditions` |
//! | `decider.rs` | answers what expressions ask about permissions |

mod conditions;
mod decider;
mod scope;

pub(super) use conditions::conditions_hold;
pub(super) use scope::{BUDGET, Failure, Scope};
