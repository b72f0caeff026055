use std::sync::Arc;

use serde_json::Value;

use super::Key;

/// One write: the states before and after it. A creation has no `before`, a deletion no `after`.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: Key,
    /// The state before the write.
    pub(crate) before: Option<Arc<Value>>,
    /// Resource version of `before`.
    pub(crate) before_version: u64,
    pub(crate) after: Option<Arc<Value>>,
    /// The last state of a deleted object, with the resource version of the deletion.
    pub(crate) deleted: Option<Arc<Value>>,
}
