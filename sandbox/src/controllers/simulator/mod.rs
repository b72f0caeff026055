//! Lets workloads run as if there were controllers and nodes. It is off unless
//! [`Builder::simulator`](crate::Builder::simulator) turns it on.
//!
//! It simulates the following, and nothing else:
//!
//! - A node `sandbox` exists and is ready, and as many others as [`Builder::nodes`](crate::Builder::nodes) asks for.
//! - Each namespace has the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt`, whose text is empty as long as there is no HTTPS
//!   listener. Pods get a service account and the volume with its token (`api/admission`).
//! - A Deployment creates ReplicaSets with the label `pod-template-hash`. It rolls over to a new one when its template
//!   changes (`RollingUpdate` with both bounds, or `Recreate`), scales, keeps `revisionHistoryLimit` old ones, and
//!   reports counts, `observedGeneration` and the conditions `Available` and `Progressing`, including
//!   `ProgressDeadlineExceeded`. A paused Deployment scales and does not roll.
//! - A ReplicaSet creates and deletes Pods until their number is right. So does a ReplicationController.
//! - A StatefulSet creates its Pods and their claims in order or in parallel, rolls out changes with a partition or on
//!   deletion, keeps ControllerRevisions, and deletes claims as its retention policy says.
//! - A DaemonSet has a Pod on each node that its template selects and whose taints it tolerates. It rolls out changes with
//!   both bounds, or on deletion.
//! - A Job runs Pods until enough have succeeded, with all fields of its specification (`job/mod.rs`).
//! - A CronJob starts a Job at each time of its schedule, which follows the clock of the sandbox. Time zones
//!   come from the database of the machine.
//! - [`Pods::stop_node`](crate::Pods::stop_node) stops a node. After 50 s it is marked and tainted, and after 5 min more, or as long as
//!   they tolerate it, its Pods are deleted. They end when the node is back.
//! - A Service with a selector has Endpoints and EndpointSlices of its Pods (`endpoints/mod.rs`). One of the type `LoadBalancer` without a class gets an
//!   address, and the finalizer and the Events of a cloud (`load_balancer.rs`).
//! - A PodDisruptionBudget counts its Pods, and the server allows evictions accordingly.
//! - A HorizontalPodAutoscaler scales by [`Figures`](crate::Figures) that a test sets (`autoscaler/mod.rs`).
//! - A PersistentVolumeClaim is bound to a PersistentVolume that fits, or gets one of its own (`volumes/mod.rs`). A Pod waits for its claims.
//! - A Pod is bound to a node that its selector and its required affinity select, whose taints it tolerates and which has room for its requests, the one
//!   with the fewest Pods. Each node has 8 CPUs, 32 GiB of memory and room for 1000 Pods. Other affinities and priorities make no difference, and no Pod
//!   is preempted.
//! - A taint with the effect `NoExecute` evicts the Pods that do not tolerate it, and the Pods of a node that does not exist are deleted after 40 s.
//! - A container whose environment names a ConfigMap, a Secret or a key that does not exist waits (`CreateContainerConfigError`), and with it the others of
//!   its Pod. A Pod is not ready as long as the condition of a readiness gate is not true.
//! - A Pod starts after [`START`]. Its init containers run one after the other, each for [`INIT`], or on beside the others if they restart always. Then
//!   its containers run. Probes succeed, at the times that they have, so a container without probes is ready at once. The containers of a Job's Pod end after [`RUN`], those of
//!   other Pods run on. A deleted Pod ends after [`STOP`]. [`Pods::of`](crate::Pods::of) sets other rules.
//! - An ephemeral container starts beside the others, after [`START`], and runs on until its Pod ends. Nothing starts it again.
//! - Containers that exit start again as the restart policy says, with the back-off of a kubelet (`CrashLoopBackOff`).
//! - **An image cannot be pulled if its registry is `invalid` or ends in `.invalid`**, the domain that is reserved
//!   never to exist: `registry.invalid/web:1`. Its Pod stays `Pending` with the reason `ErrImagePull`, later
//!   `ImagePullBackOff`. It starts once it gets another image.
//! - A started container has a log of one line, `simulated: container … started`. [`Pods`](crate::Pods) adds other
//!   output and programs.
//! - Controllers record the Events that those of a cluster record when they create and delete Pods and when a Deployment scales a ReplicaSet. So do the scheduler
//!   and the nodes: `Scheduled`, `FailedScheduling`, `Pulling`, `Pulled`, `Created`, `Started`, `Killing`, `BackOff`, `Failed`, `Unhealthy`. Equal Events are
//!   counted, and a Pod has no more than 25 Events of its node at once. An Event that was not seen for an hour is deleted.
//!
//! Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets and Jobs adopt what their selector selects and nobody controls, and
//! release what it no longer selects.
//!
//! Delays follow the sandbox's clock, so with tokio's clock paused a roll-out takes no real time and the same steps
//! every time.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `simulator.rs` | the queue of objects to reconcile |
//! | `node.rs`, `scheduler.rs`, `allocated.rs` | the nodes, how Pods get to them, and what they occupy there |
//! | `node_lifecycle.rs` | nodes that stop |
//! | `taint_eviction.rs`, `pod_gc.rs` | taints that evict Pods, and Pods whose node does not exist |
//! | `kubelet/` | Pods and their containers |
//! | `pod_control.rs` | what all controllers of Pods do alike |
//! | `claim.rs` | which objects a controller adopts and releases |
//! | `replica_set.rs` | ReplicaSets and ReplicationControllers |
//! | `deployment/` | Deployments |
//! | `daemon_set.rs` | DaemonSets |
//! | `stateful_set/` | StatefulSets |
//! | `history.rs` | ControllerRevisions |
//! | `job/` | Jobs |
//! | `cron_job/` | CronJobs |
//! | `load_balancer.rs`, `endpoints/` | Services |
//! | `autoscaler/` | HorizontalPodAutoscalers |
//! | `disruption.rs` | PodDisruptionBudgets |
//! | `selected.rs` | which Services and budgets select a Pod |
//! | `namespace_defaults.rs` | what each namespace has |
//! | `volumes/` | PersistentVolumeClaims and PersistentVolumes |
//! | `events.rs` | Events |
//! | `conditions.rs`, `object.rs` | helpers |

mod allocated;
mod autoscaler;
mod claim;
mod conditions;
mod cron_job;
mod daemon_set;
mod deployment;
mod disruption;
mod endpoints;
mod events;
mod history;
mod job;
mod kubelet;
#[cfg(test)]
mod large_test;
mod load_balancer;
mod namespace_defaults;
mod node;
mod node_lifecycle;
mod object;
mod pod_control;
mod pod_gc;
mod replica_set;
mod scheduler;
mod selected;
mod simulator;
mod stateful_set;
mod taint_eviction;
#[cfg(test)]
mod tests;
mod volumes;
#[cfg(test)]
mod world;

pub(crate) use simulator::Simulator;

use std::time::Duration;

/// The name of the simulator in managed fields.
const MANAGER: &str = "simulator";

/// The time from a Pod's creation until its containers are ready.
const START: Duration = Duration::from_millis(500);
/// The time that an init container runs.
const INIT: Duration = Duration::from_millis(500);
/// The time that the containers of a Job run.
const RUN: Duration = Duration::from_secs(1);
/// The time from a Pod's deletion until it is gone.
const STOP: Duration = Duration::from_millis(200);
