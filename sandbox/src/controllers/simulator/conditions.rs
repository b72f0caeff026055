use serde_json::{Value, json};

/// The content of a condition.
pub(super) struct Condition<'a> {
    pub(super) kind: &'a str,
    pub(super) status: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: String,
}

/// Sets a condition in `status`. Returns whether its status, reason or message changed.
///
/// `lastTransitionTime` changes with the status only. `updated` says whether the condition has a `lastUpdateTime`,
/// which changes with every change.
pub(super) fn set(status: &mut Value, new: &Condition<'_>, updated: bool, now: &str) -> bool {
    let Some(fields) = status.as_object_mut() else {
        return false;
    };
    let conditions = fields.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else {
        return false;
    };
    let old = conditions.iter_mut().find(|old| old["type"] == new.kind);
    let turned = old.as_ref().is_none_or(|old| old["status"] != new.status);
    let since = match &old {
        Some(old) if !turned => old["lastTransitionTime"].clone(),
        _ => json!(now),
    };
    let mut entry = json!({
        "type": new.kind,
        "status": new.status,
        "lastTransitionTime": since,
    });
    if !new.reason.is_empty() {
        entry["reason"] = json!(new.reason);
    }
    if !new.message.is_empty() {
        entry["message"] = json!(new.message);
    }
    let changed = turned
        || old.as_ref().is_some_and(|old| {
            old.get("reason") != entry.get("reason") || old.get("message") != entry.get("message")
        });
    if updated {
        entry["lastUpdateTime"] = match &old {
            Some(old) if !changed => old["lastUpdateTime"].clone(),
            _ => json!(now),
        };
    }
    match old {
        Some(old) => *old = entry,
        None => conditions.push(entry),
    }
    changed
}
