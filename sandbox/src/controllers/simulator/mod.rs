//! Lets workloads run as if there were controllers and nodes. It is off unless
//! [`Builder::simulator`](crate::Builder::simulator) turns it on.
//!
//! It simulates the following, and nothing else:
//!
//! - A node `sandbox` exists and is ready.
//! - A Deployment creates ReplicaSets with the label `pod-template-hash`. It rolls over to a new one when its template
//!   changes (`RollingUpdate` with both bounds, or `Recreate`), scales, keeps `revisionHistoryLimit` old ones, and
//!   reports counts, `observedGeneration` and the conditions `Available` and `Progressing`, including
//!   `ProgressDeadlineExceeded`. A paused Deployment scales and does not roll.
//! - A ReplicaSet creates and deletes Pods until their number is right.
//! - A Pod is bound to the node, starts, and is ready after [`START`]. A deleted Pod ends after [`STOP`].
//! - **An image cannot be pulled if its registry is `invalid` or ends in `.invalid`**, the domain that is reserved
//!   never to exist: `registry.invalid/web:1`. Its Pod stays `Pending` with the reason `ErrImagePull`. It starts once
//!   it gets another image.
//! - A started container has a log of one line, `simulated: container … started`. [`Pods`](crate::Pods) adds other
//!   output and programs.
//!
//! Delays follow the sandbox's clock, so with tokio's clock paused a roll-out takes no real time and the same steps
//! every time. StatefulSets, DaemonSets, Jobs and CronJobs do not run.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `simulator.rs` | the queue of objects to reconcile |
//! | `node.rs` | the node |
//! | `pod.rs` | Pods and their containers |
//! | `replica_set.rs` | ReplicaSets |
//! | `deployment.rs`, `rollout.rs`, `status.rs` | Deployments: their writes, the arithmetic of a roll-out, their status |
//! | `conditions.rs`, `object.rs` | helpers |

mod conditions;
mod deployment;
mod node;
mod object;
mod pod;
mod replica_set;
mod rollout;
mod simulator;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use simulator::Simulator;

use std::time::Duration;

/// The time from a Pod's creation until its containers are ready.
const START: Duration = Duration::from_millis(500);
/// The time from a Pod's deletion until it is gone.
const STOP: Duration = Duration::from_millis(200);
