//! Jobs: Pods that run until enough of them have succeeded.
//!
//! They follow the controller of Kubernetes 1.37, with its finalizer `batch.kubernetes.io/job-tracking`: a Pod that has ended keeps
//! the finalizer until its UID stands in `status.uncountedTerminatedPods`, and its UID stands there until the finalizer is gone and
//! the Pod is counted. A Job that has reached its end first gets the condition `SuccessCriteriaMet` or `FailureTarget`; once no Pod
//! of it is left running, it gets `Complete` or `Failed`.
//!
//! Pods are neither adopted nor released: only those that the Job created belong to it.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `jobs.rs` | one step of a Job: how it ends, and its status |
//! | `manage.rs` | how many Pods run |
//! | `tracking.rs` | counts Pods that have ended, and removes their finalizer |
//! | `pod.rs` | what a Job reads from a Pod |
//! | `policy.rs` | `podFailurePolicy` and `successPolicy` |
//! | `backoff.rs` | the pause after failures |
//! | `indexes.rs` | sets of completion indexes, in the form `0-2,5` |
//! | `ttl.rs` | deletes finished Jobs after `ttlSecondsAfterFinished` |

mod backoff;
mod indexes;
mod jobs;
mod manage;
mod pod;
mod policy;
#[cfg(test)]
mod tests;
mod tracking;
mod ttl;

pub(super) use jobs::{Jobs, finish};
pub(super) use tracking::{release, release_orphan};

const COMPONENT: &str = "job-controller";
