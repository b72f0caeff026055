use serde_json::{Map, Value};

use super::KEPT_PREFIX;

/// The part of an object that a conversion may change: everything but `apiVersion`, `kind` and the metadata, of which it may change
/// labels and annotations. The annotations of the framework are left out. Both maps are there even if they are empty, so that a
/// difference is always one of a single label or annotation.
pub(crate) fn content(object: &Value) -> Value {
    let fields = object.as_object().into_iter().flatten();
    let fields =
        fields.filter(|(field, _)| !matches!(&***field, "apiVersion" | "kind" | "metadata"));
    let mut content: Map<String, Value> = fields
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    let mut metadata = Map::new();
    for field in ["labels", "annotations"] {
        let entries = object["metadata"][field].as_object().into_iter().flatten();
        let entries = entries.filter(|(key, _)| !is_own(key));
        let entries: Map<_, _> = entries
            .map(|(key, text)| (key.clone(), text.clone()))
            .collect();
        metadata.insert(field.into(), entries.into());
    }
    content.insert("metadata".into(), metadata.into());
    content.into()
}

/// Whether the annotation is one of the framework's.
pub(super) fn is_own(key: &str) -> bool {
    key.starts_with(KEPT_PREFIX)
}

/// A copy of the object without the annotations of the framework, for the code of the program.
pub(super) fn without_own_annotations(object: &Value) -> Value {
    let mut object = object.clone();
    let annotations = object.pointer_mut("/metadata/annotations");
    if let Some(Value::Object(annotations)) = annotations {
        annotations.retain(|key, _| !is_own(key));
    }
    object
}

/// Gives the object that the program made from `original` the metadata of the original, with its own labels and annotations. A
/// function of the program that leaves the metadata empty takes over those of the original.
pub(super) fn take_over_metadata(original: &Value, made: &mut Value) {
    let Some(made) = made.as_object_mut() else {
        return;
    };
    let given = made.remove("metadata").unwrap_or_default();
    let mut metadata = match &original["metadata"] {
        Value::Object(metadata) => metadata.clone(),
        _ => Map::new(),
    };
    if given.as_object().is_some_and(|given| !given.is_empty()) {
        for field in ["labels", "annotations"] {
            match &given[field] {
                Value::Object(entries) if !entries.is_empty() => {
                    metadata.insert(field.into(), entries.clone().into());
                }
                _ => {
                    metadata.remove(field);
                }
            }
        }
    }
    made.insert("metadata".into(), metadata.into());
}

/// Replaces the content of an object.
pub(super) fn set_content(object: &mut Value, content: Value) {
    let (Value::Object(object), Value::Object(mut content)) = (object, content) else {
        return;
    };
    object.retain(|field, _| matches!(&**field, "apiVersion" | "kind" | "metadata"));
    let changed = content.remove("metadata").unwrap_or_default();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        for field in ["labels", "annotations"] {
            match &changed[field] {
                Value::Object(entries) if !entries.is_empty() => {
                    metadata.insert(field.into(), entries.clone().into());
                }
                _ => {
                    metadata.remove(field);
                }
            }
        }
    }
    object.append(&mut content);
}

/// Adds the fields of `raw` that `typed` does not have: the type does not know them, or leaves out their value when it writes.
pub(super) fn add_unknown(typed: &mut Value, raw: &Value) {
    match (typed, raw) {
        (Value::Object(typed), Value::Object(raw)) => {
            for (field, value) in raw.iter().filter(|(_, value)| !value.is_null()) {
                match typed.get_mut(field) {
                    Some(typed) => add_unknown(typed, value),
                    None => {
                        typed.insert(field.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(typed), Value::Array(raw)) if typed.len() == raw.len() => {
            for (typed, raw) in typed.iter_mut().zip(raw) {
                add_unknown(typed, raw);
            }
        }
        _ => {}
    }
}
