//! The node's side of Pods: their containers start, become ready, exit, start again, and end with the Pod.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `kubelet.rs` | the steps in the life of a Pod |
//! | `ephemeral.rs` | the steps in the life of ephemeral containers |
//! | `ephemeral_status.rs` | what each of these steps writes into the status |
//! | `probes.rs` | when the probes of a container succeed and fail |
//! | `environment.rs` | what the environment of a container needs |
//! | `containers.rs` | the lists of containers of a Pod |
//! | `logs.rs` | when their logs begin and end |
//! | `pod_status.rs` | what each step writes into the status |
//! | `pod_conditions.rs` | the conditions in it |
//! | `pod_events.rs` | the Events of each step |

mod containers;
mod environment;
mod ephemeral;
mod ephemeral_status;
#[cfg(test)]
mod ephemeral_test;
#[cfg(test)]
mod events_test;
mod kubelet;
mod logs;
mod pod_conditions;
mod pod_events;
mod pod_status;
mod probes;
#[cfg(test)]
mod tests;

pub(super) use kubelet::Kubelet;
