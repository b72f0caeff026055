//! StatefulSets: Pods with a number, and with claims of their own.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `stateful_set.rs` | one step: which Pods are created and deleted, in which order |
//! | `status.rs` | the status |
//! | `pod.rs` | the Pod of a number |
//! | `claims.rs` | its claims, and who owns them (`persistentVolumeClaimRetentionPolicy`) |

mod claims;
mod pod;
mod stateful_set;
mod status;
#[cfg(test)]
mod tests;

pub(super) use stateful_set::reconcile;

const COMPONENT: &str = "statefulset-controller";
