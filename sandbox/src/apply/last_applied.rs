//! The annotation of client-side `kubectl apply`. Server-side apply by `kubectl` honours it and keeps it up to date.

use serde_json::Value;

use super::compare::compare;
use super::conflict::Conflicts;
use super::field_set::FieldSet;
use super::fields::fields_of;
use super::managers::take;
use super::typed::Typed;

/// The only manager that this applies to.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn annotation(object: &Value) -> Option<&str> {
    let text = object
        .get("metadata")?
        .get("annotations")?
        .get(ANNOTATION)?;
    text.as_str().filter(|t| !t.is_empty())
}

/// The fields that `kubectl` applied on the client side and no manager changed since. They are no conflict for
/// `kubectl`.
pub(super) fn client_side_fields(typed: Typed<'_>, live: &Value, api_version: &str) -> FieldSet {
    let Some(last) = annotation(live).and_then(|t| serde_json::from_str::<Value>(t).ok()) else {
        return FieldSet::new();
    };
    if last.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return FieldSet::new();
    }
    let found = compare(typed, &last, live);
    fields_of(typed, &last)
        .difference(&found.modified)
        .difference(&found.added)
        .difference(&found.removed)
}

/// The conflicts that are not allowed. Returns `None` if there are none.
pub(super) fn remove_allowed(conflicts: Conflicts, allowed: FieldSet) -> Option<Conflicts> {
    let mut left = conflicts.0;
    left.retain(|c| !allowed.contains(&c.path));
    (!left.is_empty()).then_some(Conflicts(left))
}

/// Writes the applied configuration into the annotation, if the object has that annotation.
pub(super) fn update_annotation(object: &mut Value, patch: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut applied = patch.clone();
    take(&mut applied);
    if let Some(annotations) = applied.pointer_mut("/metadata/annotations")
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{applied}\n");
    if let Some(annotations) = object.pointer_mut("/metadata/annotations")
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.insert(ANNOTATION.into(), Value::String(text));
    }
}
