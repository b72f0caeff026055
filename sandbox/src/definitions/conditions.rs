//! `status.conditions` of a definition.

use serde_json::{Value, json};

use super::definition::{items, status_list};

pub(crate) fn is_true(definition: &Value, kind: &str) -> bool {
    items(definition, "/status/conditions")
        .iter()
        .any(|condition| {
            let text = |field: &str| condition.get(field).and_then(Value::as_str);
            text("type") == Some(kind) && text("status") == Some("True")
        })
}

/// Sets a condition. Its time changes only with its status.
pub(crate) fn set(
    definition: &mut Value,
    kind: &str,
    status: bool,
    reason: &str,
    message: &str,
    now: &str,
) {
    let Some(fields) = definition.as_object_mut() else {
        return;
    };
    let Some(conditions) = status_list(fields, "conditions") else {
        return;
    };
    let status = if status { "True" } else { "False" };
    let old = conditions
        .iter_mut()
        .find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind));
    let since = match &old {
        Some(old) if old.get("status").and_then(Value::as_str) == Some(status) => {
            old.get("lastTransitionTime").cloned()
        }
        _ => None,
    };
    let condition = json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since.unwrap_or_else(|| now.into()),
    });
    match old {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}
