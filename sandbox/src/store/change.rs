use std::sync::Arc;

use serde_json::Value;

use super::Key;

/// One write: what stood there before and after. Without `before` it is a creation, without `after` a deletion.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: Key,
    /// The state before the write.
    pub(crate) before: Option<Arc<Value>>,
    /// Resource version of `before`.
    pub(crate) before_version: u64,
    pub(crate) after: Option<Arc<Value>>,
    /// The last state of a deleted object, carrying the resource version of the deletion.
    pub(crate) deleted: Option<Arc<Value>>,
}
