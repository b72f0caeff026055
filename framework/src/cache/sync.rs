//! What threads meet at: in the queue of deltas, in what a store publishes, and where readiness is
//! waited for. The loom models compile those files beside a module of the same name that exports
//! loom's.

pub(super) use std::sync::{Mutex, MutexGuard};

pub(super) use arc_swap::{ArcSwap, Guard};
pub(super) use tokio::sync::watch;
