//! Responses as tables (Table of `meta.k8s.io`), which kubectl prints.
//!
//! [`table`] renders the objects of any kind: built-in kinds with the columns of a real server, others with the `additionalPrinterColumns` of their
//! CustomResourceDefinition. Columns of priority 1 are shown with `-o wide` only. [`JsonPath`] is the simple form of
//! path that columns and the scale subresource use.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `render.rs` | [`table`], and what a client asks of it |
//! | `printer.rs` | the columns and cells of a kind; the printer of each kind |
//! | `pod.rs`, `workload.rs`, `batch.rs`, `autoscaler.rs`, `service.rs`, `network.rs`, `storage.rs` | the printers of workloads, network and storage |
//! | `cluster.rs`, `rbac.rs`, `admission.rs`, `platform.rs` | the printers of the other built-in kinds |
//! | `custom.rs`, `json_path.rs` | the cells of custom resources |
//! | `cells.rs`, `duration.rs` | cells that several kinds share; ages |

mod admission;
mod autoscaler;
mod batch;
mod cells;
mod cluster;
mod custom;
mod duration;
mod json_path;
mod network;
mod platform;
mod pod;
mod printer;
mod rbac;
mod render;
mod service;
mod storage;
mod workload;

pub use duration::human_duration;
pub use json_path::JsonPath;
pub(crate) use render::{
    Include, MetaVersion, TableOptions, list_table, partial_metadata, scale_table, table,
};
