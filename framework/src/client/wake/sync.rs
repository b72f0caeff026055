//! The lock of [`part_waker`](super::part_waker). The loom model compiles that file with a module of the same name
//! that exports loom's lock.

pub(super) use parking_lot::Mutex;
