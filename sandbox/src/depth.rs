//! How deep values may be nested.

use serde_json::Value;

use crate::api::ApiError;

/// Levels a value may have. Every walk over a value is recursive, and a list of objects must stay below the 128 levels that
/// readers of JSON bear.
pub(crate) const LIMIT: usize = 100;

/// Whether a value has no more than `levels` levels; a scalar has none.
pub(crate) fn within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| within(item, levels - 1)),
        Value::Object(fields) => {
            levels > 0 && fields.values().all(|field| within(field, levels - 1))
        }
        _ => true,
    }
}

/// # Errors
/// 400 for a body that is nested too deep.
pub(crate) fn check(value: &Value) -> Result<(), ApiError> {
    if within(value, LIMIT) {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the body is nested deeper than {LIMIT} levels"
    )))
}
