//! A Kubernetes API server in one process, for development and tests.

pub mod builtin;
pub mod discovery;
pub mod openapi;
pub mod registry;
pub mod schema;
