//! Whether an object does what its spec asks for.
//!
//! [`HasReadiness`] asks any object: `cx.apply(database).await?.ready_or_wait()?`. The answer is read from the object alone, without
//! a request and without a clock: it changes only when the object changes. So a controller that owns or watches the object is woken
//! when the answer may have changed.
//!
//! The rules follow [kstatus](https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus). For every kind, in this order:
//!
//! * An object that is being deleted is not ready.
//! * If `status.observedGeneration` differs from `metadata.generation`, the object is not ready.
//! * The condition `Reconciling` with status `True` means not ready, `Stalled` with status `True` means failed.
//!
//! Then by kind:
//!
//! | kind | ready | failed |
//! | --- | --- | --- |
//! | Deployment | all replicas are updated, available and ready, no old one is left; conditions `Available` and, with a progress deadline, `Progressing` | the progress deadline is exceeded |
//! | StatefulSet | all replicas are ready and of the new revision; with a partition, those from the partition on | – |
//! | DaemonSet | on each chosen node a Pod is updated, available and ready | – |
//! | ReplicaSet, ReplicationController | all replicas are labelled, available and ready | – |
//! | Pod | the condition `Ready`, or the phase `Succeeded` | the phase `Failed`, or a container in `CrashLoopBackOff` |
//! | Job | the condition `Complete` | the condition `Failed` |
//! | Service | of type `LoadBalancer`: it has a cluster IP and an address in `status.loadBalancer`; of other types always | – |
//! | PersistentVolumeClaim | the phase `Bound` | the phase `Lost` |
//! | PodDisruptionBudget | the disruption controller has computed it | – |
//! | CustomResourceDefinition | the condition `Established` | its names are not accepted |
//! | APIService | the condition `Available` | – |
//! | Namespace | the phase `Active` | – |
//! | CronJob, ConfigMap, Secret and other kinds of Kubernetes without conditions | always | – |
//! | all others | the condition `Ready`; without it the condition `Available`; without both, as soon as there is a status | – |
//!
//! Where kstatus answers something else, this module answers for a program that waits:
//!
//! * A Job is ready when it is complete. For kstatus it is current as soon as it has started.
//! * A Pod that has failed, and a claim whose volume is lost, have failed.
//! * A Pod that cannot be scheduled is not ready, and has never failed: a node may be added. For kstatus it has failed after 15 s, which
//!   would need a clock.
//! * A Service of type `LoadBalancer` needs its address.
//! * With the strategy `OnDelete` the replicas of a StatefulSet or DaemonSet must be ready, but need not be updated.
//! * An object of a kind that is not built into Kubernetes is not ready before it has a status: its controller has not seen it.
//! * A condition whose own `observedGeneration` is not the generation of the object does not count.
//!
//! | file | holds |
//! | --- | --- |
//! | `readiness.rs` | [`Readiness`]: the answer |
//! | `fields.rs` | reads fields and conditions of an object as JSON |
//! | `rules.rs` | the rules |
//! | `has_readiness.rs` | [`HasReadiness`], and [`NotReady`]: the error of an object that is not ready |

mod fields;
mod has_readiness;
mod readiness;
mod rules;
#[cfg(test)]
mod tests;

pub use has_readiness::{HasReadiness, NotReady};
pub use readiness::Readiness;

/// The readiness of an object that was written as JSON.
pub(crate) fn readiness_of(object: &serde_json::Value) -> Readiness {
    rules::readiness(object)
}
