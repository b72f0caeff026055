//! The lock of the queue. The loom model compiles `core.rs` and `shared_core.rs` beside a module of the same name
//! that exports loom's lock.

pub(super) use parking_lot::Mutex;
