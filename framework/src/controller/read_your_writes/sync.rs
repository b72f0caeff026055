//! The lock and the atomic of the locked core. The loom model compiles `core.rs`, `locked_core.rs` and the files that they use beside a
//! module of the same name that exports loom's.

pub(super) use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) use parking_lot::{Mutex, MutexGuard};
