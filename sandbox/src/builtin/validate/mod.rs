//! The validation of built-in kinds that a real server implements in code, beside the schema.
//!
//! | file | what it validates |
//! | --- | --- |
//! | `object.rs` | the entry point, and the kinds with few rules |
//! | `fields.rs` | access to fields, and checks that several kinds share |
//! | `event.rs` | Events in both API groups |
//! | `pod.rs` | Pods, their templates, and the changes that a Pod allows |
//! | `workload.rs` | Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs |
//! | `status.rs` | writes to the `status` subresource |

mod event;
mod fields;
mod object;
mod pod;
mod status;
#[cfg(test)]
mod tests;
mod workload;

pub(crate) use object::validate_object;
pub(crate) use status::validate_status;
pub(crate) use workload::selects;
