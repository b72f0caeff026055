//! Status conditions: the state of an object, one `True`, `False` or `Unknown` for each aspect.
//!
//! | file | holds |
//! | --- | --- |
//! | `conditions.rs` | [`Conditions`]: sets, removes and reads the conditions of a status |
//! | `new_condition.rs` | [`NewCondition`]: one condition to set; [`ConditionError`]: why it was refused |

mod conditions;
mod new_condition;
#[cfg(test)]
mod tests;

pub use conditions::Conditions;
pub(crate) use conditions::keep_transitions;
pub use new_condition::{ConditionError, NewCondition};
