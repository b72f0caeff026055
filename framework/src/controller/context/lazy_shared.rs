use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};

/// A value that is made at its first use and that clones share. For notes that only few reconciles take.
#[derive(Debug)]
pub(super) struct LazyShared<T>(OnceLock<Arc<Mutex<T>>>);

impl<T: Default> LazyShared<T> {
    /// The value; `None` if it was not made yet.
    pub(super) fn get(&self) -> Option<MutexGuard<'_, T>> {
        self.0.get().map(|value| value.lock())
    }

    pub(super) fn get_or_make(&self) -> MutexGuard<'_, T> {
        self.0.get_or_init(Arc::default).lock()
    }

    /// The value, for a holder that may live longer.
    pub(super) fn share(&self) -> Arc<Mutex<T>> {
        self.0.get_or_init(Arc::default).clone()
    }
}

impl<T: Default> Clone for LazyShared<T> {
    fn clone(&self) -> Self {
        Self(self.0.get_or_init(Arc::default).clone().into())
    }
}

impl<T> Default for LazyShared<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}
