use serde_json::Value;

use super::late::Late;

/// The status that one reconcile wrote last, as the server keeps it: newer than the one in the object that
/// the reconcile was given. Clones share it.
#[derive(Clone, Default)]
pub(super) struct LastStatus(Late<Option<Value>>);

impl LastStatus {
    pub(super) fn get(&self) -> Option<Value> {
        self.0.get()?.clone()
    }

    pub(super) fn set(&self, status: Value) {
        *self.0.get_or_make() = Some(status);
    }
}
