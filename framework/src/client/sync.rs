//! What threads meet at in [`part_waker`](super::part_waker). The loom model compiles that file beside a module of the
//! same name that exports loom's.

pub(super) use std::sync::{Mutex, MutexGuard};
