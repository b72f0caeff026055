//! The rules, kind by kind: each case is checked as a typed object and as a dynamic one.

mod others;
mod workloads;

use serde_json::{Value, json};

use super::{HasReadiness, Readiness};
use crate::resource::{DynamicObject, Resource};

pub(super) fn not_ready(reason: &str) -> Readiness {
    Readiness::NotReady(reason.into())
}

pub(super) fn failed(reason: &str) -> Readiness {
    Readiness::Failed(reason.into())
}

/// A condition with type, status, reason and message.
pub(super) fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

/// Checks `spec` and `status` of kind `K`, as the typed object and as a dynamic one.
#[track_caller]
pub(super) fn check<K: Resource>(spec: Value, status: Value, expected: Readiness) {
    let version = match K::GROUP {
        "" => K::VERSION.to_owned(),
        group => format!("{group}/{}", K::VERSION),
    };
    let object = json!({
        "apiVersion": version, "kind": K::KIND,
        "metadata": {"name": "a", "namespace": "default", "generation": 3},
        "spec": spec, "status": status,
    });
    let dynamic: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(dynamic.readiness(), expected, "dynamic: {object}");
    let typed: K = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(typed.readiness(), expected, "typed: {object}");
}

/// `base` with the fields of `more`.
pub(super) fn with(base: &Value, more: Value) -> Value {
    let mut all = base.clone();
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

pub(super) fn template() -> Value {
    json!({"spec": {"containers": [{"name": "a", "image": "a"}]}})
}
