//! The validation of built-in kinds that a real server implements in code, beside the schema.
//!
//! | file | what it validates |
//! | --- | --- |
//! | `object.rs` | the entry point, and the kinds with few rules |
//! | `part.rs` | a part of an object with its path, and the rules that many fields have: rules of new kinds use it |
//! | `fields.rs` | access to fields, and checks that several kinds share |
//! | `event.rs` | Events in both API groups |
//! | `pod/` | Pods, their templates, and the changes that a Pod allows |
//! | `claims.rs` | PersistentVolumeClaims |
//! | `service.rs` | Services, and what they may keep and change of their addresses |
//! | `secret.rs` | Secrets and the content that their types promise |
//! | `apps.rs` | Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets and ControllerRevisions |
//! | `job.rs`, `job_status.rs`, `cron.rs` | Jobs and their status; CronJobs, their schedules and time zones |
//! | `selector.rs` | selectors of labels |
//! | `rbac.rs` | roles and bindings |
//! | `node.rs` | Nodes and Namespaces |
//! | `admission.rs`, `policies.rs`, `api_service.rs` | webhook configurations; admission policies; APIServices |
//! | `autoscaler.rs` | HorizontalPodAutoscalers |
//! | `certificates.rs` | CertificateSigningRequests, ClusterTrustBundles and PodCertificateRequests |
//! | `conditions.rs` | the conditions of a status in their common form |
//! | `migration.rs` | StorageVersionMigrations and their status |
//! | `devices.rs` | `resource.k8s.io` |
//! | `classes.rs` | RuntimeClasses and PriorityClasses |
//! | `flow_control.rs` | FlowSchemas and PriorityLevelConfigurations |
//! | `limits.rs` | LimitRanges and ResourceQuotas |
//! | `network.rs`, `addresses.rs` | Endpoints, EndpointSlices and `networking.k8s.io`; IPAddresses and ServiceCIDRs |
//! | `storage.rs` | PersistentVolumes and `storage.k8s.io` |
//! | `status.rs` | writes to the `status` subresource |
//! | `warnings/` | what is valid but discouraged |

mod addresses;
mod admission;
mod api_service;
mod apps;
mod autoscaler;
mod certificates;
mod claims;
mod classes;
mod conditions;
mod cron;
mod devices;
mod event;
#[cfg(test)]
mod faults;
mod fields;
mod flow_control;
mod job;
mod job_status;
mod limits;
mod migration;
mod network;
mod node;
mod object;
mod part;
mod pod;
mod policies;
mod rbac;
mod secret;
mod selector;
mod service;
mod status;
mod storage;
#[cfg(test)]
mod tests;
mod warnings;

use super::internal_form;
pub(crate) use addresses::ip_address_name;
pub(crate) use admission::webhook_client;
pub(crate) use object::validate_object;
pub(crate) use policies::policy_with;
pub(crate) use selector::selects;
pub(crate) use service::service_addresses;
pub(crate) use status::validate_status;
pub(crate) use warnings::warnings;
