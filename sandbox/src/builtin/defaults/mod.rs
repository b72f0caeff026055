//! The defaults that a real server writes into objects of the built-in kinds.
//!
//! | file | what it fills in |
//! | --- | --- |
//! | `object.rs` | every kind, and what a server sets for a new object or hides from clients |
//! | `fields.rs` | sets fields that are absent |
//! | `pod.rs` | the specification of a Pod, alone or in a template |
//! | `admission.rs` | webhook configurations and admission policies |
//! | `autoscaler.rs` | HorizontalPodAutoscalers |
//! | `definition.rs` | CustomResourceDefinitions |
//! | `devices.rs` | `resource.k8s.io` |
//! | `limits.rs` | LimitRanges, ResourceQuotas, and the flow control of API requests |
//! | `network.rs` | Endpoints, EndpointSlices, and `networking.k8s.io` |
//! | `service.rs` | Services |
//! | `storage.rs` | PersistentVolumes and `storage.k8s.io` |

mod admission;
mod autoscaler;
mod definition;
mod devices;
mod fields;
mod limits;
mod network;
mod object;
mod pod;
mod service;
mod storage;

pub(super) use object::keeps_json;
pub(crate) use object::{complete_object, default_object, qos_class, shown_object};
pub(crate) use service::{has_health_check, has_node_ports};
