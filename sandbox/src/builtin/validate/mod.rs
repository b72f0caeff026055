//! The validation of built-in kinds that a real server implements in code, beside the schema.
//!
//! | file | what it validates |
//! | --- | --- |
//! | `object.rs` | the entry point, and the kinds with few rules |
//! | `fields.rs` | access to fields, and checks that several kinds share |
//! | `event.rs` | Events in both API groups |
//! | `pod.rs` | Pods, their templates, and the changes that a Pod allows |
//! | `service.rs` | Services, and what they may keep and change of their addresses |
//! | `secret.rs` | Secrets and the content that their types promise |
//! | `workload.rs` | Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs |
//! | `admission.rs`, `api_service.rs` | webhook configurations and admission policies; APIServices |
//! | `autoscaler.rs` | HorizontalPodAutoscalers |
//! | `certificates.rs` | CertificateSigningRequests |
//! | `devices.rs` | `resource.k8s.io` |
//! | `classes.rs` | RuntimeClasses and PriorityClasses |
//! | `flow_control.rs` | FlowSchemas and PriorityLevelConfigurations |
//! | `limits.rs` | LimitRanges and ResourceQuotas |
//! | `network.rs` | Endpoints, EndpointSlices and `networking.k8s.io` |
//! | `storage.rs` | PersistentVolumes and `storage.k8s.io` |
//! | `status.rs` | writes to the `status` subresource |
//! | `warnings.rs` | what is valid but discouraged |

mod admission;
mod api_service;
mod autoscaler;
mod certificates;
mod classes;
mod devices;
mod event;
mod fields;
mod flow_control;
mod limits;
mod network;
mod object;
mod pod;
mod secret;
mod service;
mod status;
mod storage;
#[cfg(test)]
mod tests;
mod warnings;
mod workload;

use super::internal_form::internal_form;
pub(crate) use admission::{policy_with, webhook_client};
pub(crate) use network::ip_address_name;
pub(crate) use object::validate_object;
pub(crate) use service::service_addresses;
pub(crate) use status::validate_status;
pub(crate) use warnings::warnings;
pub(crate) use workload::selects;
