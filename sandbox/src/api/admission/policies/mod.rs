//! The plugins ValidatingAdmissionPolicy and MutatingAdmissionPolicy: they evaluate the expressions of policies that bindings put into force.
//!
//! The policies are asked in the order of their names, and the bindings of a policy in the order of theirs. The first denial is the answer. Each
//! mutation sees what those before it have changed. If something changes the object later, the policies that want it see it once more.
//!
//! | file | what it does |
//! | --- | --- |
//! | `validate.rs`, `mutate.rs` | ask all policies of a kind |
//! | `policy.rs` | which policies and bindings match a request |
//! | `params.rs` | the objects that a binding gives a policy as parameters |
//! | `decide.rs` | evaluates a validating policy |
//! | `audit.rs` | what validating policies write into the audit log |
//! | `patch.rs` | changes an object by one mutation |
//! | `refusal.rs` | the details of a refusal |
//! | `types.rs` | the check of the expressions for the types of the objects |

mod audit;
mod decide;
mod mutate;
mod params;
mod patch;
mod policy;
mod refusal;
#[cfg(test)]
mod tests;
mod types;
mod validate;

pub(super) use mutate::mutate;
pub use types::ExpressionWarning;
pub(crate) use types::check_types;
pub(super) use validate::validate;
