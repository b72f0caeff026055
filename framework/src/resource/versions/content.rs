use serde_json::{Map, Value};

use super::KEPT_PREFIX;

/// Returns the part of an object that a conversion may change. The part lacks `apiVersion`, `kind`, the annotations of the framework, and all
/// metadata but labels and annotations. It contains the maps of labels and annotations even if they are empty, so that each difference
/// names a single label or annotation.
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

/// Whether the annotation belongs to the framework.
pub(super) fn is_own(key: &str) -> bool {
    key.starts_with(KEPT_PREFIX)
}

/// Returns a copy of the object without the annotations of the framework. The code of the program gets this copy.
pub(super) fn without_own_annotations(object: &Value) -> Value {
    let mut object = object.clone();
    let annotations = object.pointer_mut("/metadata/annotations");
    if let Some(Value::Object(annotations)) = annotations {
        annotations.retain(|key, _| !is_own(key));
    }
    object
}

/// Completes the metadata of `made`, which the program made from `original`. Labels and annotations stay as the program set them. All other
/// metadata come from the original. If the program left the metadata empty, labels and annotations come from the original, too.
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

/// Adds the fields of `raw` that `typed` lacks. The type does not know these fields, or it does not write their values.
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
