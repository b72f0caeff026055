//! PersistentVolumeClaims and PersistentVolumes: claims are bound as if there were a binder and a provisioner for each class.
//!
//! - A claim gets the smallest available volume that fits: class, size, access modes, mode and labels.
//! - If no volume fits, the claim gets a new one, with the reclaim policy and mount options of its class. A claim without a class gets a new volume, too. A
//!   claim with the empty class or with one of the provisioner `kubernetes.io/no-provisioner` waits for a volume that somebody else creates.
//! - A class with `WaitForFirstConsumer` waits until a Pod that uses the claim has a node.
//! - A volume whose claim is gone is `Released`, and deleted if its reclaim policy says so. A claim whose volume is gone is `Lost`.
//! - A provisioned volume grows with its claim.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `claim.rs` | the steps of a claim |
//! | `volume.rs` | the steps of a volume |
//! | `class.rs` | what a class says |
//! | `pod.rs` | the claims of a Pod, and the nodes on which it can use them |

mod claim;
mod class;
mod pod;
#[cfg(test)]
mod tests;
mod volume;

pub(super) use claim::reconcile as reconcile_claim;
pub(super) use pod::{fits, names, select_node, unbound};
pub(super) use volume::reconcile as reconcile_volume;

use crate::registry::GroupResource;

const COMPONENT: &str = "persistentvolume-controller";
/// The annotations of a bound claim, and of a volume: that they are bound, and that a controller chose the partner.
const COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const PROVISIONED: &str = "pv.kubernetes.io/provisioned-by";
/// The annotation of a claim with the node of its first consumer.
const SELECTED: &str = "volume.kubernetes.io/selected-node";

pub(super) fn volumes() -> GroupResource {
    GroupResource::new("", "persistentvolumes")
}

pub(super) fn classes() -> GroupResource {
    GroupResource::new("storage.k8s.io", "storageclasses")
}
