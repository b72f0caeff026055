//! The rules every object's `metadata` keeps.

use serde_json::Value;

use super::{Cause, meta, names, strategy};
use crate::registry::ServedKind;
use crate::schema::FieldError;

/// What is wrong with `metadata` of an object that is created or replaces `old`.
pub(super) fn metadata(kind: &ServedKind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = meta::name(object);
    match old {
        None if name.is_empty() => causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        )),
        None => {
            for detail in strategy::name_errors(kind, name) {
                causes.push(Cause::invalid("metadata.name", &name.into(), &detail));
            }
        }
        Some(old) => {
            for field in ["name", "namespace", "uid"] {
                let (was, is) = (meta::text(old, field), meta::text(object, field));
                if was != is {
                    causes.push(Cause::invalid(
                        format!("metadata.{field}"),
                        &is.into(),
                        "field is immutable",
                    ));
                }
            }
            new_finalizers(object, old, &mut causes);
        }
    }
    labels(object, &mut causes);
    annotations(object, &mut causes);
    for (index, finalizer) in meta::finalizers(object).into_iter().enumerate() {
        for detail in names::qualified_name(finalizer) {
            causes.push(Cause::invalid(
                format!("metadata.finalizers[{index}]"),
                &finalizer.into(),
                &detail,
            ));
        }
        let domainless = !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer);
        if domainless && !kind.is_custom() && kind.group != "apiextensions.k8s.io" {
            causes.push(Cause::invalid(
                format!("metadata.finalizers[{index}]"),
                &finalizer.into(),
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
    let finalizers = meta::finalizers(object);
    if ["orphan", "foregroundDeletion"]
        .iter()
        .all(|both| finalizers.contains(both))
    {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid(
            "metadata.finalizers",
            &finalizers.into(),
            detail,
        ));
    }
    owners(object, &mut causes);
    causes
}

/// What is right, but better not done.
pub(super) fn warnings(kind: &ServedKind, object: &Value, old: Option<&Value>) -> Vec<String> {
    if !kind.is_custom() {
        return Vec::new();
    }
    let known = old.map(meta::finalizers).unwrap_or_default();
    let new = meta::finalizers(object)
        .into_iter()
        .filter(|name| !known.contains(name));
    let domainless = new.filter(|name| !name.contains('/') && !STANDARD_FINALIZERS.contains(name));
    domainless
        .map(|name| {
            let with_path = if name.contains('.') {
                " including a path (/)"
            } else {
                ""
            };
            format!(
                "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{with_path} to avoid accidental conflicts \
                 with other finalizer writers"
            )
        })
        .collect()
}

/// Those that built-in kinds may have without a domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

fn new_finalizers(object: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if !meta::is_deleting(old) {
        return;
    }
    let known = meta::finalizers(old);
    let new: Vec<String> = meta::finalizers(object)
        .into_iter()
        .filter(|finalizer| !known.contains(finalizer))
        .map(|finalizer| format!("{finalizer:?}"))
        .collect();
    if !new.is_empty() {
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            new.join(", ")
        );
        causes.push(Cause::forbidden("metadata.finalizers", &detail));
    }
}

fn labels(object: &Value, causes: &mut Vec<Cause>) {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        for detail in names::qualified_name(key) {
            causes.push(Cause::invalid(
                "metadata.labels",
                &key.as_str().into(),
                &detail,
            ));
        }
        for detail in names::label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid("metadata.labels", value, &detail));
        }
    }
}

/// All annotations together, in bytes.
const ANNOTATIONS: usize = 256 * 1024;

fn annotations(object: &Value, causes: &mut Vec<Cause>) {
    let annotations = object
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let mut size = 0;
    for (key, value) in annotations.into_iter().flatten() {
        for detail in names::qualified_name(&key.to_lowercase()) {
            causes.push(Cause::invalid(
                "metadata.annotations",
                &key.as_str().into(),
                &detail,
            ));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS {
        let message = format!("Too long: may not be more than {ANNOTATIONS} bytes");
        causes.push(Cause::field(
            "FieldValueTooLong",
            "metadata.annotations",
            message,
        ));
    }
}

fn owners(object: &Value, causes: &mut Vec<Cause>) {
    let owners = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut controllers: Vec<String> = Vec::new();
    for owner in owners.into_iter().flatten() {
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        for (field, detail) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if text(field).is_empty() {
                let path = format!("metadata.ownerReferences.{field}");
                causes.push(Cause::invalid(path, &"".into(), detail));
            }
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
        );
        let references = object
            .pointer("/metadata/ownerReferences")
            .unwrap_or(&Value::Null);
        causes.push(Cause::invalid(
            "metadata.ownerReferences",
            references,
            &detail,
        ));
    }
}

impl From<FieldError> for Cause {
    fn from(error: FieldError) -> Self {
        Self::field(error.kind.reason(), error.field.clone(), error.body())
    }
}
