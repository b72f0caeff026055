//! What a user writes and declares: a [`Reconciler`], and the [`Controller`] that runs it.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `controller.rs` | [`Controller`]: the declared kinds and the settings |
//! | `reconciler.rs` | [`Reconciler`]: the user's code |
//! | `cleanup.rs` | [`Cleanup`]: the user's code before an object is deleted |
//! | `finalizers.rs` | [`Controller::finalizer`] and the other methods about finalizers |
//! | `indexes.rs` | [`Controller::index`] and the other methods about indexes |
//! | `access.rs` | [`Controller::needs`] and the other methods about permissions, and [`AccessUse`] |
//! | `written_kinds.rs` | [`WrittenKinds`]: the kinds of objects that a controller writes |
//!
//! [`Controller::run`] stands in `worker/start.rs`, because it uses everything else.

mod access;
mod cleanup;
mod controller;
mod finalizers;
mod indexes;
mod reconciler;
mod written_kinds;

pub use access::AccessUse;
pub use cleanup::Cleanup;
pub use controller::Controller;
pub use reconciler::Reconciler;
pub(crate) use written_kinds::WrittenKinds;
