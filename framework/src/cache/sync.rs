//! What threads synchronise with in the delta queue, in the published state of a store, and in readiness. The loom
//! models compile those files beside a module of the same name that exports loom's types.

pub(super) use arc_swap::{ArcSwap, Guard};
pub(super) use parking_lot::{Mutex, MutexGuard};
pub(super) use tokio::sync::watch;
