//! The rules that apply to every object.

use serde_json::Value;

use super::scale_values::scale_values;
use super::strategy;
use crate::builtin;
use crate::definitions;
use crate::error::Cause;
use crate::registry::ServedKind;
use crate::schema::{FieldError, Written};
use crate::{meta, names};

/// The errors in an object that is created or replaces `old`, and in `warnings` what would be an error if it were new.
/// `subresource` is empty for the main resource.
pub(super) fn object(
    kind: &ServedKind,
    subresource: &str,
    object: &Value,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Vec<Cause> {
    let mut causes = match old {
        None => created(kind, object),
        Some(old) => changed(kind, object, old),
    };
    if kind.is_custom() {
        let rules_are_blocked = causes.iter().any(|cause| {
            matches!(
                cause.reason.as_str(),
                "FieldValueRequired" | "FieldValueTooLong"
            )
        });
        let schema = kind.structural();
        let written = Written {
            object,
            old,
            only_status: subresource == "status",
            others: scale_values(kind, subresource, object),
            rules_are_blocked,
        };
        let found = schema.validate_written(written);
        causes.extend(found.errors.into_iter().map(Cause::from));
        warnings.extend(found.warnings);
        return causes;
    }
    let errors = match subresource {
        "finalize" => Vec::new(),
        "status" if kind.kind != "CertificateSigningRequest" => {
            builtin::validate_status(kind, object, old)
        }
        _ => builtin::validate_object(kind, subresource, object, old),
    };
    causes.extend(errors.into_iter().map(Cause::from));
    if definitions::is_definition(kind) && subresource.is_empty() {
        causes.extend(definitions::check(object, old));
    }
    causes
}

/// The errors in the `metadata` of a new object.
fn created(kind: &ServedKind, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (name, prefix) = (meta::name(object), meta::text(object, "generateName"));
    if !prefix.is_empty() {
        for detail in strategy::prefix_errors(kind, prefix) {
            causes.push(Cause::invalid(
                "metadata.generateName",
                &prefix.into(),
                &detail,
            ));
        }
    }
    if name.is_empty() {
        causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else {
        for detail in strategy::name_errors(kind, name) {
            causes.push(Cause::invalid("metadata.name", &name.into(), &detail));
        }
    }
    labels(object, &mut causes);
    annotations(object, &mut causes);
    owners(object, &mut causes);
    finalizers(object, &mut causes);
    finalizer_domains(kind, object, &mut causes);
    causes
}

/// The errors in the `metadata` of an object that replaces `old`.
///
/// A real server checks it three times: as any object, as any change, and as each kind does. The last two are the same.
fn changed(kind: &ServedKind, object: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    labels(object, &mut causes);
    annotations(object, &mut causes);
    owners(object, &mut causes);
    finalizers(object, &mut causes);
    for _ in 0..2 {
        new_finalizers(object, old, &mut causes);
        for field in [
            "name",
            "namespace",
            "uid",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            let value = |object: &Value| object.pointer(&format!("/metadata/{field}")).cloned();
            let (was, is) = (value(old), value(object));
            if was != is {
                causes.push(Cause::invalid(
                    format!("metadata.{field}"),
                    &is.unwrap_or_default(),
                    "field is immutable",
                ));
            }
        }
        labels(object, &mut causes);
        annotations(object, &mut causes);
        owners(object, &mut causes);
    }
    finalizer_domains(kind, object, &mut causes);
    causes
}

fn finalizers(object: &Value, causes: &mut Vec<Cause>) {
    let finalizers = meta::finalizers(object);
    for finalizer in &finalizers {
        for detail in names::qualified_name(finalizer) {
            causes.push(Cause::invalid(
                "metadata.finalizers",
                &(*finalizer).into(),
                &detail,
            ));
        }
    }
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
}

fn finalizer_domains(kind: &ServedKind, object: &Value, causes: &mut Vec<Cause>) {
    if kind.is_custom() || kind.group == "apiextensions.k8s.io" {
        return;
    }
    for (index, finalizer) in meta::finalizers(object).into_iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            causes.push(Cause::invalid(
                format!("metadata.finalizers[{index}]"),
                &finalizer.into(),
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
}

/// The warnings about an object: what is valid but discouraged.
pub(super) fn warnings(kind: &ServedKind, object: &Value, old: Option<&Value>) -> Vec<String> {
    if !kind.is_custom() {
        return builtin::warnings(kind, object, old);
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

/// The finalizers that built-in kinds may have without a domain.
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

/// The errors in the labels and annotations of an object.
pub(super) fn labels_and_annotations(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    labels(object, &mut causes);
    annotations(object, &mut causes);
    causes
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
        text("metadata.labels", value, causes);
    }
}

/// Refuses a value that is no text. Bodies are decoded before, so only the server itself can have made one.
fn text(field: &str, value: &Value, causes: &mut Vec<Cause>) {
    if !value.is_string() && !value.is_null() {
        causes.push(Cause::invalid(field, value, "must be a string"));
    }
}

/// The most bytes that all annotations may have together.
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
        text("metadata.annotations", value, causes);
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
    const FIELD: &str = "metadata.ownerReferences";
    let owners = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut controller: Option<String> = None;
    for (index, owner) in owners.into_iter().flatten().enumerate() {
        let place = format!("{FIELD}[{index}]");
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        for field in ["apiVersion", "kind", "name", "uid"] {
            if text(field).is_empty() {
                let detail = "must not be empty";
                causes.push(Cause::required(format!("{place}.{field}"), detail));
            }
        }
        if (text("apiVersion"), text("kind")) == ("v1", "Event") {
            let message = format!(
                "Invalid value: {}: /v1, Kind=Event is disallowed from being an owner",
                shown_owner(owner)
            );
            causes.push(Cause::field("FieldValueInvalid", &place, message));
        }
        if owner.get("controller") != Some(&Value::Bool(true)) {
            continue;
        }
        let this = format!("{}/{}", text("kind"), text("name"));
        match &controller {
            None => controller = Some(this),
            Some(first) => {
                let all: Vec<String> = owners.into_iter().flatten().map(shown_owner).collect();
                let message = format!(
                    "Invalid value: [{}]: Only one reference can have Controller set to true. Found \"true\" in references for \
                     {first} and {this}",
                    all.join(",")
                );
                causes.push(Cause::field("FieldValueInvalid", FIELD, message));
            }
        }
    }
}

/// An owner reference as JSON, with its fields in the order of a real server.
fn shown_owner(owner: &Value) -> String {
    let required = ["apiVersion", "kind", "name", "uid"];
    let all = required.iter().chain(&["controller", "blockOwnerDeletion"]);
    let fields = all.filter_map(|name| {
        let value = owner.get(name).filter(|value| !value.is_null());
        let empty = required.contains(name).then(|| "\"\"".into());
        let value = value.map(Value::to_string).or(empty)?;
        Some(format!("\"{name}\":{value}"))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

impl From<FieldError> for Cause {
    fn from(error: FieldError) -> Self {
        Self::field(error.kind.reason(), error.field.clone(), error.body())
    }
}
