//! Pods, their templates, and the changes that a Pod allows.
//!
//! The files have the order in which a real server reports what is wrong.
//!
//! | file | what it validates |
//! | --- | --- |
//! | `spec.rs` | the specification: the order of its parts, and the short ones |
//! | `annotations.rs` | annotations with a meaning |
//! | `volumes.rs`, `projected.rs`, `claim.rs` | volumes, what they project, and claims of devices |
//! | `containers.rs` | containers of all three kinds |
//! | `env.rs` | environment variables |
//! | `mounts.rs` | mounts and devices of containers |
//! | `handlers.rs` | probes and lifecycle hooks |
//! | `resources.rs` | requests and limits, of containers and of the Pod |
//! | `security.rs` | security contexts, and what Windows and Linux exclude |
//! | `placement.rs` | affinity, tolerations, topology spread |
//! | `network.rs` | DNS, host names and ports of the node |
//! | `update.rs` | the changes that a Pod allows |

mod annotations;
mod claim;
mod containers;
mod env;
mod handlers;
mod mounts;
mod network;
mod placement;
mod projected;
mod resources;
mod security;
mod spec;
mod update;
mod volumes;

pub(super) use containers::names as container_names;
pub(super) use placement::{node_selector, tolerations};
pub(super) use resources::container_resource_name;
pub(super) use spec::{pod, pod_template};
pub(super) use update::{ephemeral_update, pod_update, resize};
