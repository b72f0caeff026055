//! Deployments: ReplicaSets, roll-outs and status.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `annotations.rs` | the annotations of ReplicaSets |
//! | `deployment.rs` | the writes of one step |
//! | `rollout.rs` | the arithmetic of a roll-out |
//! | `status.rs` | the status |

mod annotations;
mod deployment;
mod rollout;
mod status;
#[cfg(test)]
mod tests;

pub(super) use deployment::reconcile;
pub(super) use rollout::bound;
