//! The lock and the number of what is asked of the caches. The loom model compiles `core.rs` and `shared.rs` beside a
//! module of the same name that exports loom's.

pub(super) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};
