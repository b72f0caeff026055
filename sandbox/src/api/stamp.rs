use serde_json::{Value, json};

use crate::authentication::User;
use crate::registry::ServedKind;

/// Writes the times that the server itself sets in objects of some built-in kinds. `subresource` is empty for the main
/// resource, and `old` is `None` for a new object.
pub(super) fn stamp(
    kind: &ServedKind,
    subresource: &str,
    old: Option<&Value>,
    new: &mut Value,
    now: &str,
) {
    if kind.is_custom() {
        return;
    }
    match (kind.group.as_str(), kind.kind.as_str(), subresource) {
        ("", "PersistentVolume", _) => phase(old, new, now),
        ("apiregistration.k8s.io", "APIService", "") if old.is_none() => local_service(new, now),
        ("certificates.k8s.io", "CertificateSigningRequest", "status" | "approval") => {
            conditions(old, new, now);
        }
        ("resource.k8s.io", "DeviceTaintRule", "") => taint_of_rule(old, new, now),
        ("resource.k8s.io", "ResourceSlice", "") => taints(new, now),
        _ => {}
    }
}

/// The user of the request is the author of a CertificateSigningRequest.
pub(super) fn author(kind: &ServedKind, object: &mut Value, user: &User) {
    let is_request =
        kind.group == "certificates.k8s.io" && kind.kind == "CertificateSigningRequest";
    if kind.is_custom() || !is_request {
        return;
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    if !user.name.is_empty() {
        spec.insert("username".into(), user.name.as_str().into());
    }
    if !user.uid.is_empty() {
        spec.insert("uid".into(), user.uid.as_str().into());
    }
    if !user.groups.is_empty() {
        spec.insert("groups".into(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        spec.insert("extra".into(), json!(user.extra));
    }
}

const PHASE_TIME: &str = "lastPhaseTransitionTime";

/// When the phase of a volume changed.
fn phase(old: Option<&Value>, new: &mut Value, now: &str) {
    let part = |object: &Value, field: &str| {
        let found = object.get("status").and_then(|status| status.get(field));
        found.cloned()
    };
    let time = match old {
        None => Some(now.into()),
        Some(old) => {
            let (was, given) = (part(old, PHASE_TIME), part(new, PHASE_TIME));
            let same_phase = part(old, "phase") == part(new, "phase");
            match (same_phase, &given) {
                (true, None) => was,
                (false, None) => Some(now.into()),
                (false, Some(_)) if given == was => Some(now.into()),
                _ => given,
            }
        }
    };
    if let (Some(time), Some(status)) = (time, new.get_mut("status").and_then(Value::as_object_mut))
    {
        status.insert(PHASE_TIME.into(), time);
    }
}

/// An APIService without a service is served by the server itself.
fn local_service(service: &mut Value, now: &str) {
    if service.pointer("/spec/service").is_none() {
        service["status"] = json!({"conditions": [{
            "type": "Available", "status": "True", "lastTransitionTime": now, "reason": "Local",
            "message": "Local APIServices are always available",
        }]});
    }
}

/// When the conditions of a CertificateSigningRequest changed.
fn conditions(old: Option<&Value>, new: &mut Value, now: &str) {
    let before = old.and_then(|old| old.pointer("/status/conditions")?.as_array());
    let conditions = new
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        let was = before.and_then(|all| all.iter().find(|was| was["type"] == condition["type"]));
        let Some(condition) = condition.as_object_mut() else {
            continue;
        };
        let is_unset = |value: Option<&Value>| value.is_none_or(Value::is_null);
        if is_unset(condition.get("lastUpdateTime")) {
            condition.insert("lastUpdateTime".into(), now.into());
        }
        if is_unset(condition.get("lastTransitionTime")) {
            let kept = was
                .filter(|was| was.get("status") == condition.get("status"))
                .and_then(|was| was.get("lastTransitionTime"))
                .filter(|time| !time.is_null());
            let time = kept.cloned().unwrap_or_else(|| now.into());
            condition.insert("lastTransitionTime".into(), time);
        }
    }
}

/// When the taint of a rule was added, or got another effect.
fn taint_of_rule(old: Option<&Value>, new: &mut Value, now: &str) {
    const TIME: &str = "timeAdded";
    let taint = |rule: &Value, field: &str| rule["spec"]["taint"][field].clone();
    let is_unset = taint(new, TIME).is_null();
    let has_other_effect = old.is_some_and(|old| {
        taint(old, "effect") != taint(new, "effect") && taint(old, TIME) == taint(new, TIME)
    });
    let stored = new
        .pointer_mut("/spec/taint")
        .and_then(Value::as_object_mut);
    if let Some(stored) = stored
        && (is_unset || has_other_effect)
    {
        stored.insert(TIME.into(), now.into());
    }
}

/// When the taints of devices were added.
fn taints(slice: &mut Value, now: &str) {
    let devices = slice
        .pointer_mut("/spec/devices")
        .and_then(Value::as_array_mut);
    for device in devices.into_iter().flatten() {
        let taints = device.get_mut("taints").and_then(Value::as_array_mut);
        for taint in taints.into_iter().flatten() {
            if let Some(taint) = taint.as_object_mut() {
                taint.entry("timeAdded").or_insert_with(|| now.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_phase_of_a_volume_gets_the_time_of_the_change() {
        let volume =
            |phase: &str, time: &str| json!({"status": {"phase": phase, PHASE_TIME: time}});
        let was = volume("Pending", "before");
        let mut new = volume("Available", "before");
        phase(Some(&was), &mut new, "now");
        assert_eq!(new, volume("Available", "now"));
        let mut same = json!({"status": {"phase": "Pending"}});
        phase(Some(&was), &mut same, "now");
        assert_eq!(same, was);
    }
}
