//! The lock and the atomic of the locked core. The loom model compiles `core.rs` and `locked_core.rs` beside a
//! module of the same name that exports loom's.

pub(super) use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) use parking_lot::{Mutex, MutexGuard};
