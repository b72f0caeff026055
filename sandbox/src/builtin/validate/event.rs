use serde_json::{Value, json};

use super::fields::{at, text};
use super::internal_form::internal_invalid;
use crate::builtin::event_to_core;
use crate::names;
use crate::schema::FieldError;

/// The fields that cannot change through events.k8s.io/v1: all but the series.
const FIXED: [&str; 13] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
];

/// Validates an Event: strictly in events.k8s.io/v1, loosely in core/v1. Errors name the fields as a real server names
/// them, which is by the names of its internal type.
pub(super) fn event(
    object: &Value,
    strict: bool,
    old: Option<&Value>,
    found: &mut Vec<FieldError>,
) {
    let core = |object: &Value| {
        if strict {
            event_to_core(object)
        } else {
            object.clone()
        }
    };
    let event = core(object);
    if at(&event, "/eventTime").is_null() {
        namespace_of_old_events(&event, found);
    } else {
        limits(&event, strict, found);
    }
    if !strict {
        return;
    }
    let old = old.map(core);
    let old_series = old.as_ref().map(|old| at(old, "/series"));
    let series = at(&event, "/series");
    if !series.is_null() && old_series != Some(series) {
        if series["count"].as_i64() < Some(2) {
            let detail = "should be at least 2";
            found.push(FieldError::invalid("series.count", "", detail));
        }
        if series["lastObservedTime"].is_null() {
            found.push(FieldError::required("series.lastObservedTime", ""));
        }
    }
    match &old {
        Some(old) => {
            for field in FIXED {
                let pointer = format!("/{field}");
                if at(&event, &pointer) != at(old, &pointer) {
                    found.push(immutable(field, at(&event, &pointer)));
                }
            }
        }
        None => new_event(&event, found),
    }
}

fn immutable(field: &str, value: &Value) -> FieldError {
    let detail = "field is immutable";
    match (field, value) {
        ("involvedObject" | "related", Value::Object(_)) => {
            internal_invalid("core.ObjectReference", field, value, detail)
        }
        (
            "reason" | "message" | "type" | "action" | "reportingComponent" | "reportingInstance",
            Value::Null,
        ) => FieldError::invalid(inner(field), "", detail),
        _ => FieldError::invalid(inner(field), value.clone(), detail),
    }
}

/// The name of a field in the server's internal type.
fn inner(field: &str) -> &str {
    match field {
        "reportingComponent" => "reportingController",
        other => other,
    }
}

fn new_event(event: &Value, found: &mut Vec<FieldError>) {
    if at(event, "/eventTime").is_null() {
        found.push(FieldError::required("eventTime", ""));
    }
    let kind = text(event, "/type");
    if !["Normal", "Warning"].contains(&kind) {
        let detail = format!("has invalid value: {kind}");
        found.push(FieldError::invalid("type", json!(""), detail));
    }
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        let value = at(event, &format!("/{field}"));
        if ![Value::Null, json!(0), json!({})].contains(value) {
            found.push(FieldError::invalid(field, json!(""), "needs to be unset"));
        }
    }
}

fn limits(event: &Value, strict: bool, found: &mut Vec<FieldError>) {
    let namespace = text(event, "/metadata/namespace");
    let involved = text(event, "/involvedObject/namespace");
    if involved.is_empty() && !["default", "kube-system"].contains(&namespace) {
        mismatch(involved, found);
    }
    let controller = text(event, "/reportingComponent");
    let field = if strict {
        "reportingController"
    } else {
        "reportingComponent"
    };
    if controller.is_empty() {
        found.push(FieldError::required(field, ""));
    }
    for wrong in names::qualified_name(controller) {
        found.push(FieldError::invalid(field, json!(controller), wrong));
    }
    for (field, longest, required) in [
        ("reportingInstance", 128, true),
        ("action", 128, true),
        ("reason", 128, true),
        ("message", 1024, false),
    ] {
        let value = text(event, &format!("/{field}"));
        if required && value.is_empty() {
            found.push(FieldError::required(field, ""));
        }
        if value.len() > longest {
            let detail = format!("can have at most {longest} characters");
            found.push(FieldError::invalid(field, json!(""), detail));
        }
    }
}

fn namespace_of_old_events(event: &Value, found: &mut Vec<FieldError>) {
    let namespace = text(event, "/metadata/namespace");
    let involved = text(event, "/involvedObject/namespace");
    let fits = match involved {
        "" => namespace == "default",
        involved => involved == namespace,
    };
    if !fits {
        mismatch(involved, found);
    }
}

fn mismatch(involved: &str, found: &mut Vec<FieldError>) {
    let detail = "does not match event.namespace";
    let field = "involvedObject.namespace";
    found.push(FieldError::invalid(field, json!(involved), detail));
}
