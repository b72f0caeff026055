use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// The status that one reconcile wrote last, as the server keeps it: newer than the one in the object that
/// the reconcile was given. Clones share it.
#[derive(Clone, Default)]
pub(super) struct LastStatus(Arc<Mutex<Option<Value>>>);

impl LastStatus {
    pub(super) fn get(&self) -> Option<Value> {
        self.lock().clone()
    }

    pub(super) fn set(&self, status: Value) {
        *self.lock() = Some(status);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
