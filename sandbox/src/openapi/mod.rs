//! OpenAPI documents of everything that is served, as kubectl and other clients read them.
//!
//! [`index`] and [`document`] are `/openapi/v3` and what lies below it: one document per group and version. [`swagger`]
//! is `/openapi/v2`, one document of everything, and [`swagger_protobuf`] the same in the form kubectl asked for before
//! version 3 came. Built-in kinds come without descriptions; those of CustomResourceDefinitions keep theirs, so
//! `kubectl explain` prints them. Functions are pure over a [`Registry`](crate::registry::Registry).

mod definitions;
mod gnostic;
mod paths;
mod swagger;
#[cfg(test)]
mod tests;
mod v3;

pub use gnostic::swagger_protobuf;
pub use swagger::{SWAGGER_PROTOBUF, swagger, wants_protobuf};
pub use v3::{document, index};
