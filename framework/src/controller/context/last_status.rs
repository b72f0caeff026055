use serde_json::Value;

use super::lazy_shared::LazyShared;

/// The status that one call wrote last, as the server stored it. It is newer than the status of the object that the call
/// was given. Clones share it.
#[derive(Clone, Default)]
pub(super) struct LastStatus(LazyShared<Option<Value>>);

impl LastStatus {
    pub(super) fn get(&self) -> Option<Value> {
        self.0.get()?.clone()
    }

    pub(super) fn set(&self, status: Value) {
        *self.0.get_or_make() = Some(status);
    }
}
