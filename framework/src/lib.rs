//! A Kubernetes controller framework: derive a resource, write `reconcile`, run.
#![forbid(unsafe_code)]
// How the code is kept small, as each program builds all that its types make generic, and the library comes last in a build:
//
// * What does not depend on the user's types is no part of a generic function, but called by it.
// * The body of an `async fn` is built in the crate that awaits it, even if nothing in it is generic: a future that a generic
//   one awaits is boxed where it is made, by a function that gives a `BoxFuture`.
// * A task is boxed where it is started: tokio and hyper have much code around each type of future.
// * What few programs call and makes much that is generic is `#[inline]`: it is built in those that call it.
//
// `bench/README.md` tells how to measure a build.

pub mod cache;
pub mod client;
pub mod controller;
pub mod crd;
pub mod election;
pub mod events;
pub mod health;
pub mod metrics;
pub mod operator;
pub mod prelude;
pub mod queue;
pub mod resource;
pub mod server;
#[cfg(feature = "dev")]
pub mod testing;

/// The derives, each with the trait of its name.
pub use crate::{crd::Schema, resource::Resource};
pub use pilothouse_macros::{Resource, Schema};

/// The Kubernetes API types, from k8s-openapi.
pub use k8s_openapi as k8s;

/// What generated code names. Not part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::crd::{Declaration, build_crd, check_scale, check_status, describe};
    pub use crate::resource::wire::{Absent, deserialize_kind, serialize_kind};
    pub use schemars;
    pub use serde;
}
