//! The lock of the queue of deltas. The loom model compiles `queue.rs` and `fifo.rs` beside a module of
//! the same name that exports loom's.

pub(super) use std::sync::{Mutex, MutexGuard};
