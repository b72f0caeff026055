//! The objects that an operator needs in a cluster, made from what the program declares.
//!
//! An [`Installation`] says where the operator is installed and where it works. [`Roles`] holds its ServiceAccount and the least
//! roles for an [`Access`](crate::resource::Access), with their bindings. [`Manifests`] holds all objects. The commands `rbac` and
//! `manifests` of each operator print them; see [`operator`](crate::operator).
//!
//! Nothing here sends a request.
//!
//! ```
//! use pilothouse::{k8s::api::core::v1::ConfigMap, manifests::{Installation, Roles}, resource::{Access, AccessRule}};
//!
//! let access = Access::from(AccessRule::of::<ConfigMap>(["get", "list", "watch"]));
//! let everywhere = Roles::new(&Installation::new("website").unwrap(), &access);
//! assert_eq!((everywhere.cluster_roles.len(), everywhere.roles.len()), (1, 0));
//!
//! let installation = Installation::new("website").unwrap().works_in(["blue", "green"]);
//! let limited = Roles::new(&installation, &access);
//! assert_eq!((limited.cluster_roles.len(), limited.roles.len()), (0, 2));
//! ```
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `installation.rs` | [`Installation`]: names, labels and namespaces |
//! | `roles.rs` | [`Roles`]: ServiceAccount, roles and bindings |
//! | `endpoint.rs` | where metrics and health are served |
//! | `deployment.rs`, `network.rs` | the pods and their disruption budget; Service, NetworkPolicy, ServiceMonitor and PodMonitor |
//! | `webhooks.rs` | the Service and the configurations of webhooks |
//! | `alerts.rs` | the alerts, for Prometheus and for the Prometheus operator |
//! | `dashboard.rs` | the dashboard for Grafana |
//! | `manifests.rs` | [`Manifests`]: all objects |
//! | `files.rs` | what the outputs with several files have in common |
//! | `kustomize.rs`, `helm/` | the files for Kustomize, and those of a Helm chart |

mod alerts;
mod dashboard;
mod deployment;
mod endpoint;
mod files;
mod helm;
mod installation;
pub(crate) mod kustomize;
mod manifests;
mod network;
mod roles;
mod webhooks;

pub(crate) use alerts::{prometheus_rule, rules};
pub(crate) use dashboard::dashboard;
pub(crate) use endpoint::Endpoint;
pub(crate) use files::{BEGIN, END, Files};
pub(crate) use helm::Chart;
pub(crate) use installation::is_of_every_cluster;
pub use installation::{Installation, InvalidName};
pub use manifests::Manifests;
pub(crate) use manifests::Program;
pub use roles::Roles;
pub(crate) use webhooks::WebhookPort;
