use std::sync::Arc;

use serde_json::Value;

use super::attributes::{Attributes, Triple};
use crate::api::Target;
use crate::builtin::{self, selects};
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::{GroupResource, ServedKind};
use crate::store::Key;

/// Configurations of admission are never sent to webhooks and policies: a wrong one could not be mended.
pub(super) fn is_exempt(attributes: &Attributes<'_>) -> bool {
    attributes.target.kind.group == "admissionregistration.k8s.io"
}

/// The kind in which a webhook or policy gets the object, if a rule matches: that of the request, or with the match policy `Equivalent`
/// another version of it.
pub(super) fn matched<'a>(
    core: &Core,
    attributes: &Attributes<'_>,
    rules: impl Iterator<Item = &'a Value> + Clone,
    policy: &Value,
) -> Option<Arc<ServedKind>> {
    let own = &attributes.target.kind;
    if rules
        .clone()
        .any(|rule| matches(rule, attributes, attributes.resource()))
    {
        return Some(own.clone());
    }
    if policy != "Equivalent" {
        return None;
    }
    let others = equivalents(core, attributes);
    for rule in rules {
        for other in &others {
            let resource = [&*other.group, &*other.version, &*other.plural];
            if matches(rule, attributes, resource) {
                return Some(other.clone());
            }
        }
    }
    None
}

/// Other kinds under which the same objects are served.
fn equivalents(core: &Core, attributes: &Attributes<'_>) -> Vec<Arc<ServedKind>> {
    let own = &attributes.target.kind;
    let storage = attributes.target.storage();
    let registry = core.registry();
    let others = registry.kinds().iter().filter(|other| {
        let is_own = other.group == own.group && other.version == own.version;
        let same = !(is_own && other.plural == own.plural)
            && Target::new(other, None).storage() == storage;
        same && has(other, attributes.subresource)
    });
    others.cloned().collect()
}

fn has(kind: &ServedKind, subresource: &str) -> bool {
    match (subresource, kind.is_custom()) {
        ("", _) => true,
        ("status", true) => kind.status,
        ("scale", true) => kind.scale.is_some(),
        (_, true) => false,
        (_, false) => builtin::subresource(kind, subresource).is_some(),
    }
}

/// Whether a rule matches a request, as if it were for this resource.
fn matches(rule: &Value, attributes: &Attributes<'_>, resource: Triple<'_>) -> bool {
    let [group, version, plural] = resource;
    let has = |field: &str, wanted: &str| {
        let items = rule[field].as_array().into_iter().flatten();
        items.into_iter().any(|item| item == "*" || item == wanted)
    };
    let is_cluster = attributes.namespace().is_empty() || attributes.is_of_namespaces();
    let scope = match rule["scope"].as_str() {
        Some("Namespaced") => !is_cluster,
        Some("Cluster") => is_cluster,
        _ => true,
    };
    let named = || {
        let resources = rule["resources"].as_array().into_iter().flatten();
        resources.filter_map(Value::as_str).any(|one| {
            let (resource, part) = one.split_once('/').unwrap_or((one, ""));
            (resource == "*" || resource == plural)
                && (part == "*" || part == attributes.subresource)
        })
    };
    let names = rule["resourceNames"].as_array();
    let has_name = names
        .is_none_or(|names| names.is_empty() || names.iter().any(|name| name == attributes.name));
    scope
        && has_name
        && has("operations", attributes.operation.name())
        && has("apiGroups", group)
        && has("apiVersions", version)
        && named()
}

/// Whether the selectors of a webhook or policy select the request.
///
/// # Errors
/// 404 if the namespace does not exist.
pub(super) fn selected(
    core: &Core,
    attributes: &Attributes<'_>,
    by: &Value,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<bool, ApiError> {
    let labels = |object: &Value| object["metadata"]["labels"].clone();
    let selector = &by["objectSelector"];
    let is_selected =
        |object: Option<&Value>| object.is_some_and(|object| selects(selector, &labels(object)));
    if !is_empty(selector) && !is_selected(object) && !is_selected(old) {
        return Ok(false);
    }
    let selector = &by["namespaceSelector"];
    let namespace = attributes.namespace();
    if is_empty(selector) || namespace.is_empty() && !attributes.is_of_namespaces() {
        return Ok(true);
    }
    if attributes.is_of_namespaces()
        && attributes.subresource.is_empty()
        && let Some(object) = object
    {
        return Ok(selects(selector, &labels(object)));
    }
    let found = self::namespace(core, namespace)?;
    Ok(selects(selector, &labels(&found)))
}

fn is_empty(selector: &Value) -> bool {
    let no = |field: &str| match &selector[field] {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => true,
    };
    no("matchLabels") && no("matchExpressions")
}

/// A namespace.
///
/// # Errors
/// 404.
pub(super) fn namespace(core: &Core, name: &str) -> Result<Arc<Value>, ApiError> {
    let resource = GroupResource::new("", "namespaces");
    let found = core.store.get(&resource, &Key::new(None, name));
    found
        .map(|entry| entry.object)
        .ok_or_else(|| ApiError::not_found(&resource, name))
}

/// The name that a refusal shows.
pub(super) fn shown_name<'a>(attributes: &'a Attributes<'_>, object: Option<&'a Value>) -> &'a str {
    let names = [
        attributes.name,
        object.map(meta::name).unwrap_or_default(),
        object.map_or("", |object| meta::text(object, "generateName")),
    ];
    names
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or("Unknown")
}
