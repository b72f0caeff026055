//! Deployments: ReplicaSets, roll-outs and status.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `deployment.rs` | the writes of one step |
//! | `rollout.rs` | the arithmetic of a roll-out |
//! | `status.rs` | the status |

mod deployment;
mod rollout;
mod status;

pub(super) use deployment::reconcile;
pub(super) use rollout::bound;
