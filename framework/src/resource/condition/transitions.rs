use serde_json::Value;

/// Gives the conditions of `status` the transition times they have in `present`, where they say the same
/// there, so that a status that was put together anew is equal to the one that is there.
pub(crate) fn keep_transitions(status: &mut Value, present: &Value) {
    const TIME: &str = "lastTransitionTime";
    let Some(present) = present.get("conditions").and_then(Value::as_array) else {
        return;
    };
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        let same = present.iter().find(|one| {
            one.get("type").is_some()
                && one.get("type") == condition.get("type")
                && one.get("status") == condition.get("status")
        });
        if let (Some(time), Some(place)) =
            (same.and_then(|one| one.get(TIME)), condition.get_mut(TIME))
        {
            *place = time.clone();
        }
    }
}
