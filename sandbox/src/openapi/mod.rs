//! OpenAPI documents of everything that is served, as kubectl and other clients read them.
//!
//! [`index`] and [`document`] serve `/openapi/v3` and the paths below it: one document per group and version. [`swagger_json`] serves
//! `/openapi/v2`, one document for everything, and [`swagger_protobuf`] serves the same in the format that kubectl used
//! before version 3. The descriptions of built-in kinds are those of Kubernetes, and the kinds of CustomResourceDefinitions keep
//! theirs: `kubectl explain` prints them. Every function is pure over a [`Registry`](crate::registry::Registry).
//!
//! | file | what it holds |
//! | --- | --- |
//! | `definitions.rs` | the schemas, with their references |
//! | `paths.rs` | the operations on each path |
//! | `v3.rs` | version 3 |
//! | `swagger.rs` | version 2 |
//! | `gnostic.rs` | version 2 in protobuf |

mod definitions;
mod gnostic;
mod paths;
mod swagger;
#[cfg(test)]
mod tests;
mod v3;

pub(crate) use gnostic::swagger_protobuf;
pub(crate) use swagger::{swagger_json, wants_protobuf};
pub(crate) use v3::{document, index};
