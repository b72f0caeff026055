use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What one reconcile notes, and most do not: it is made when it is needed. Clones share it.
#[derive(Debug)]
pub(super) struct Late<T>(OnceLock<Arc<Mutex<T>>>);

impl<T: Default> Late<T> {
    /// `None` if nothing was noted.
    pub(super) fn get(&self) -> Option<MutexGuard<'_, T>> {
        self.0.get().map(lock)
    }

    pub(super) fn get_or_make(&self) -> MutexGuard<'_, T> {
        lock(self.0.get_or_init(Arc::default))
    }
}

// The user's code does not run under it: what a panic leaves is whole.
fn lock<T>(noted: &Arc<Mutex<T>>) -> MutexGuard<'_, T> {
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Default> Clone for Late<T> {
    fn clone(&self) -> Self {
        Self(self.0.get_or_init(Arc::default).clone().into())
    }
}

impl<T> Default for Late<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}
