//! [`Sandbox`], the handle that tests hold, and the [`Builder`] that starts it.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `sandbox.rs` | the handle |
//! | `snapshot.rs` | the objects of a moment, to bring them back |
//! | `builder.rs` | the settings, and the start of all tasks |
//! | `first_objects.rs` | the namespaces, roles and bindings that every new cluster has, and the Service of its API server |

mod builder;
mod first_objects;
mod sandbox;
mod snapshot;

pub use builder::{BuildError, Builder};
pub use sandbox::Sandbox;
pub use snapshot::Snapshot;
