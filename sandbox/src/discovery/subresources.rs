use std::borrow::Cow;

use serde_json::{Value, json};

use crate::builtin::{self, Subresource};
use crate::registry::ServedKind;

/// The subresources of a kind, in the order of discovery.
pub(super) fn subresources(kind: &ServedKind) -> Cow<'static, [Subresource]> {
    if let Some(resource) = builtin::resource(kind) {
        return Cow::Borrowed(&resource.subresources);
    }
    let subresource = |name: &str, [group, version, kind]: [&str; 3]| Subresource {
        name: name.into(),
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs: ["get", "patch", "update"].map(String::from).to_vec(),
    };
    let mut all = Vec::new();
    if kind.status {
        all.push(subresource(
            "status",
            [&kind.group, &kind.version, &kind.kind],
        ));
    }
    if kind.scale.is_some() {
        all.push(subresource("scale", ["autoscaling", "v1", "Scale"]));
    }
    Cow::Owned(all)
}

/// Its entry in a list of resources.
pub(super) fn entry(of: &ServedKind, one: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", of.plural, one.name),
        "singularName": "",
        "namespaced": of.namespaced,
        "kind": one.kind,
        "verbs": one.verbs,
    });
    // Written only if it differs from that of the resource.
    if one.group != of.group {
        entry["group"] = one.group.as_str().into();
        entry["version"] = one.version.as_str().into();
    }
    entry
}

/// A kind in aggregated discovery. A built-in resource leaves out its own group and version.
pub(super) fn response_kind(of: &ServedKind, group: &str, version: &str, kind: &str) -> Value {
    let own = group == of.group && version == of.version;
    let (group, version) = match own && !of.is_custom() {
        true => ("", ""),
        false => (group, version),
    };
    json!({"group": group, "version": version, "kind": kind})
}

/// Its entry in aggregated discovery.
pub(super) fn aggregated(of: &ServedKind, one: &Subresource) -> Value {
    json!({
        "subresource": one.name,
        "responseKind": response_kind(of, &one.group, &one.version, &one.kind),
        "verbs": one.verbs,
    })
}
