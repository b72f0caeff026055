use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::content::is_own;
use crate::resource::{PathStep, format_path};

/// The beginning of the annotations in which conversions keep what a version cannot express. The version that can follows it.
pub const KEPT_PREFIX: &str = "conversion.pilothouse.dev/";

/// The most bytes of all annotations of an object (k8s.io/apimachinery, `TotalAnnotationSizeLimitB`).
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// A field that a version cannot express.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeptField {
    /// Names of fields, from the object on. A list is one field.
    pub(super) path: Vec<String>,
    /// What the conversion there and back makes of it. `None`: it is gone.
    pub(super) returned: Option<Value>,
    /// Its value. `None`: the object does not have it, and the way back adds it.
    pub(super) value: Option<Value>,
}

impl KeptField {
    pub(super) fn shown(&self) -> String {
        let steps = self.path.iter().cloned().map(PathStep::Key);
        format_path(&steps.collect::<Vec<_>>())
    }
}

/// The fields in which `whole` differs from what came back.
pub(super) fn difference(returned: &Value, whole: &Value) -> Vec<KeptField> {
    let mut fields = Vec::new();
    compare(&mut Vec::new(), Some(returned), Some(whole), &mut fields);
    fields
}

fn compare(
    path: &mut Vec<String>,
    returned: Option<&Value>,
    whole: Option<&Value>,
    fields: &mut Vec<KeptField>,
) {
    if returned == whole {
        return;
    }
    let (Some(Value::Object(one)), Some(Value::Object(other))) = (returned, whole) else {
        fields.push(KeptField {
            path: path.clone(),
            returned: returned.cloned(),
            value: whole.cloned(),
        });
        return;
    };
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for name in names {
        path.push(name.clone());
        compare(path, one.get(name), other.get(name), fields);
        path.pop();
    }
}

/// The key of the annotation that keeps what the other versions cannot express of `version`.
pub(super) fn annotation(version: &str) -> String {
    format!("{KEPT_PREFIX}{version}")
}

/// Reads the fields that an object keeps for `version`.
///
/// # Errors
/// What is wrong with the annotation, without its content.
pub(super) fn read(object: &Value, version: &str) -> Result<Vec<KeptField>, String> {
    let key = annotation(version);
    let wrong = |problem: &str| {
        Err(format!(
            "metadata.annotations[{key}] {problem}: it is not what a conversion wrote. Write back what was there, or remove the \
             annotation, which gives up the fields that it keeps"
        ))
    };
    let text = match &object["metadata"]["annotations"][&key] {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => text,
        _ => return wrong("is not a text"),
    };
    let Ok(Value::Array(entries)) = serde_json::from_str(text) else {
        return wrong("is not a list in JSON");
    };
    let mut fields = Vec::new();
    for (number, entry) in entries.into_iter().enumerate() {
        let Value::Object(mut entry) = entry else {
            return wrong(&format!("has no object at position {number}"));
        };
        let path: Option<Vec<String>> = entry
            .remove("path")
            .and_then(|path| serde_json::from_value(path).ok());
        let field = KeptField {
            path: path.unwrap_or_default(),
            returned: entry.remove("returned"),
            value: entry.remove("value"),
        };
        if field.path.is_empty() || !entry.is_empty() || field.returned == field.value {
            return wrong(&format!("has no field at position {number}"));
        }
        if !may_be_kept(&field.path) {
            return wrong(&format!(
                "names {}, which no conversion changes",
                field.shown()
            ));
        }
        fields.push(field);
    }
    Ok(fields)
}

fn may_be_kept(path: &[String]) -> bool {
    match path {
        [first, ..] if matches!(first.as_str(), "apiVersion" | "kind") => false,
        [first, map, key] if first == "metadata" => match map.as_str() {
            "labels" => true,
            "annotations" => !is_own(key),
            _ => false,
        },
        [first, ..] => first != "metadata",
        [] => false,
    }
}

/// Writes the fields that `object` cannot express of `version` into it.
///
/// # Errors
/// They are too large, or the object has no metadata.
pub(super) fn write(object: &mut Value, version: &str, fields: &[KeptField]) -> Result<(), String> {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return Err("it has no metadata".into());
    };
    let key = annotation(version);
    if fields.is_empty() {
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(&key);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        return Ok(());
    }
    let entries = fields.iter().map(|field| {
        let mut entry = Map::new();
        entry.insert("path".into(), json!(field.path));
        for (name, value) in [("returned", &field.returned), ("value", &field.value)] {
            if let Some(value) = value {
                entry.insert(name.into(), value.clone());
            }
        }
        Value::Object(entry)
    });
    let text = Value::Array(entries.collect()).to_string();
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    let Value::Object(annotations) = annotations else {
        return Err("its annotations are no object".into());
    };
    annotations.insert(key, text.into());
    let size = |(key, text): (&String, &Value)| key.len() + text.as_str().map_or(0, str::len);
    let total: usize = annotations.iter().map(size).sum();
    if total > MOST_ANNOTATIONS {
        let size = |field: &&KeptField| {
            let size =
                |value: &Option<Value>| value.as_ref().map_or(0, |value| value.to_string().len());
            size(&field.returned) + size(&field.value)
        };
        let largest = fields.iter().max_by_key(size).map(KeptField::shown);
        return Err(format!(
            "this version cannot express all fields, and an annotation would have to keep them, but all annotations of the object \
             would have {total} bytes, which is more than {MOST_ANNOTATIONS}: the largest of these fields is {}",
            largest.unwrap_or_default()
        ));
    }
    Ok(())
}

/// The paths of the fields that an object keeps for `version`.
#[cfg(feature = "dev")]
pub(crate) fn kept_fields(object: &Value, version: &str) -> Vec<String> {
    let fields = read(object, version).unwrap_or_default();
    fields.iter().map(KeptField::shown).collect()
}
