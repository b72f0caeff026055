//! Answers as tables (`meta.k8s.io/v1` Table), which is what kubectl prints.
//!
//! [`table`] renders the objects of any kind: built-in kinds with the columns a real server has, the others with the
//! `additionalPrinterColumns` of their CustomResourceDefinition. Columns of priority 1 are shown with `-o wide` only.
//! [`JsonPath`] is the simple form of path that columns and the scale subresource use.

mod batch;
mod cells;
mod cluster;
mod custom;
mod duration;
mod include;
mod json_path;
mod pod;
mod printer;
mod rbac;
mod render;
mod service;
mod workload;

pub use duration::human_duration;
pub use include::Include;
pub use json_path::{JsonPath, JsonPathError};
pub use render::{partial_metadata, table};
