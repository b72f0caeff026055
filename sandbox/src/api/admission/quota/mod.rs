//! ResourceQuotas: how much of what a namespace may have.
//!
//! [`charge`] adds what a new or changed object uses to the status of each quota that counts it, and refuses the write if that exceeds a quota.
//! A quota counts once its status has limits, which its controller writes with [`recount`]. As on a real server, nothing is refused
//! without that controller. One lock is held from the check until the object is written, so no two writes use the same rest of a quota.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `charge.rs` | [`charge`] and [`recount`] |
//! | `evaluator.rs` | what an object uses, and which quotas count it |
//! | `scope.rs` | which objects are in the scopes of a quota |

mod charge;
mod evaluator;
mod scope;
#[cfg(test)]
mod tests;

pub(crate) use charge::recount;
pub(in crate::api) use charge::{Attempt, charge};
