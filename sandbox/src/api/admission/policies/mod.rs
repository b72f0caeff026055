//! The plugin ValidatingAdmissionPolicy: it evaluates the expressions of policies that bindings put into force.
//!
//! The policies are asked in the order of their names, and the bindings of a policy in the order of theirs. The first denial is the answer.
//!
//! | file | what it does |
//! | --- | --- |
//! | `validate.rs` | asks all policies |
//! | `policy.rs` | which policies and bindings match a request |
//! | `params.rs` | the objects that a binding gives a policy as parameters |
//! | `decide.rs` | evaluates one policy |

mod decide;
mod params;
mod policy;
#[cfg(test)]
mod tests;
mod validate;

pub(super) use validate::validate;
