//! Lets workloads run as if controllers and nodes were there: off unless asked for.
//!
//! What it does, and nothing else:
//!
//! - A node `sandbox` exists and is ready.
//! - A Deployment makes ReplicaSets with the label `pod-template-hash`, rolls over to a new one when its template changes
//!   (`RollingUpdate` with its two bounds, or `Recreate`), scales, keeps `revisionHistoryLimit` old ones, and reports counts,
//!   `observedGeneration` and the conditions `Available` and `Progressing`, `ProgressDeadlineExceeded` included. A paused one
//!   scales and does not roll.
//! - A ReplicaSet makes and deletes pods until there are as many as it wants.
//! - A pod is bound to the node, starts, and is ready after [`START`]. One that is deleted ends after [`STOP`].
//! - **An image cannot be pulled if its registry is `invalid` or ends in `.invalid`**, the domain that is reserved never to exist:
//!   `registry.invalid/web:1`. Its pod stays `Pending` with the reason `ErrImagePull`; it starts once it gets another image.
//! - A container that has started has a log of one line, `simulated: container … started`; what else it seems to write and to
//!   run is up to [`Pods`](crate::Pods).
//!
//! Delays are on the sandbox's clock, so with tokio's clock paused a roll-out takes no time and the same steps every time.
//! StatefulSets, DaemonSets, Jobs and CronJobs are not run.

mod conditions;
mod deployment;
mod object;
mod pod;
mod replica_set;
mod rollout;
#[expect(
    clippy::module_inception,
    reason = "the type and the concept share their name"
)]
mod simulator;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use simulator::Simulator;

use std::time::Duration;

/// From a pod's creation until its containers are ready.
const START: Duration = Duration::from_millis(500);
/// From a pod's deletion until it is gone.
const STOP: Duration = Duration::from_millis(200);
