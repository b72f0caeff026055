//! Status conditions: what an object has come to, one word for each aspect.

mod conditions;
mod error;
mod new_condition;
#[cfg(test)]
mod tests;
mod transitions;

pub use conditions::Conditions;
pub use error::ConditionError;
pub use new_condition::NewCondition;
pub(crate) use transitions::keep_transitions;
