//! Server-side apply: a sequence of writes by several managers.

use jiff::Timestamp;
use pilothouse_sandbox::internals::apply::{ApplyOptions, Managers, apply, update};
use serde_json::{Value, json};

use super::patch::schemas;
use crate::input;

pub(crate) fn run(data: &[u8]) {
    let (form, rest) = input::choice(data);
    if input::depth(rest) > 40 {
        return;
    }
    let schemas = schemas();
    let schema = &schemas[usize::from(form) % schemas.len()];
    let mut live: Option<Value> = None;
    for part in input::all_parts(rest).take(8) {
        let (how, text) = input::choice(part);
        let Ok(Value::Object(mut object)) = serde_json::from_slice::<Value>(text) else {
            continue;
        };
        object.insert("apiVersion".into(), "e/v1".into());
        object.insert("kind".into(), "E".into());
        let metadata = object.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.remove("managedFields");
        }
        let object = Value::Object(object);
        let manager = ["a", "b", "c", "kubectl"][usize::from(how) % 4];
        let options = ApplyOptions::new(manager, "e/v1", Timestamp::UNIX_EPOCH);
        let options = options.force(how & 4 != 0);
        if how & 8 == 0 {
            let Ok(applied) = apply(schema, live.as_ref(), &object, &options) else {
                continue;
            };
            managers(&applied.object);
            let has_old_annotation = manager == "kubectl" && is_annotated(&object);
            if has_old_annotation || has_empty(&object) || live.as_ref().is_some_and(has_empty) {
                live = Some(applied.object);
                continue;
            }
            let again = apply(schema, Some(&applied.object), &object, &options);
            let again = again.unwrap_or_else(|error| panic!("a second time: {error}"));
            assert_eq!(again.object, applied.object, "a second time");
            assert!(!again.changed, "a second time");
            live = Some(applied.object);
        } else {
            let mut new = object;
            if let (Some(before), Some(metadata)) = (&live, new["metadata"].as_object_mut()) {
                let known = before.pointer("/metadata/managedFields").cloned();
                metadata.extend(known.map(|known| ("managedFields".to_owned(), known)));
            }
            let updated = update(schema, live.as_ref(), new, &options);
            managers(&updated);
            live = Some(updated);
        }
    }
}

/// Whether an object has the annotation of client-side `kubectl apply`. The server replaces its text in a server-side apply of
/// `kubectl`, so the same apply again conflicts if another manager owns the annotation.
fn is_annotated(object: &Value) -> bool {
    let annotations = &object["metadata"]["annotations"];
    annotations
        .get("kubectl.kubernetes.io/last-applied-configuration")
        .is_some()
}

/// Whether a list or map below the root is empty or a value is null. Their ownership follows no consistent rule,
/// neither in the API server.
fn has_empty(value: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_empty(item) || has_empty(item)),
        Value::Object(map) => {
            let fields = map.iter().filter(|(key, _)| *key != "metadata");
            fields
                .map(|(_, value)| value)
                .any(|value| is_empty(value) || has_empty(value))
        }
        _ => false,
    }
}

/// Checks that `managedFields` are read and written back unchanged.
fn managers(object: &Value) {
    let Some(written) = object.pointer("/metadata/managedFields") else {
        return;
    };
    let read = Managers::from_json(written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(&read.to_json(), written);
}
