//! A Kubernetes controller framework: derive a resource, write `reconcile`, run.
#![forbid(unsafe_code)]

pub mod cache;
pub mod client;
pub mod health;
pub mod metrics;
pub mod resource;
pub mod server;
#[cfg(feature = "dev")]
pub mod testing;

/// The Kubernetes API types, from k8s-openapi.
pub use k8s_openapi as k8s;
