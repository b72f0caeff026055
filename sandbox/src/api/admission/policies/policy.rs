use std::sync::Arc;

use serde_json::Value;

use crate::api::admission::attributes::Attributes;
use crate::api::admission::configurations::Configuration;
use crate::api::admission::rules;
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::ServedKind;

/// The kind in which a policy or a binding gets the object, if these constraints match the request.
///
/// # Errors
/// 404 if the namespace does not exist.
pub(super) fn matched(
    core: &Core,
    attributes: &Attributes<'_>,
    constraints: &Value,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Option<Arc<ServedKind>>, ApiError> {
    if !rules::selected(core, attributes, constraints, object, old)? {
        return Ok(None);
    }
    let policy = &constraints["matchPolicy"];
    let rules = |field: &str| constraints[field].as_array().into_iter().flatten();
    if rules::matched(core, attributes, rules("excludeResourceRules"), policy).is_some() {
        return Ok(None);
    }
    if rules("resourceRules").next().is_none() {
        return Ok(Some(attributes.target.kind.clone()));
    }
    Ok(rules::matched(
        core,
        attributes,
        rules("resourceRules"),
        policy,
    ))
}

/// The bindings of a policy.
pub(super) fn bound_to<'a>(
    bindings: &'a [Arc<Configuration>],
    policy: &str,
) -> Vec<&'a Arc<Value>> {
    let bindings = bindings.iter().map(|binding| &binding.object);
    bindings
        .filter(|binding| binding["spec"]["policyName"] == policy)
        .collect()
}

/// The namespace of the request, as expressions see it. Null for cluster-scoped objects and for namespaces themselves.
pub(super) fn namespace(core: &Core, attributes: &Attributes<'_>) -> Result<Value, ApiError> {
    if attributes.is_of_namespaces() || attributes.namespace().is_empty() {
        return Ok(Value::Null);
    }
    let mut namespace = Value::clone(&*rules::namespace(core, attributes.namespace())?);
    for field in ["managedFields", "ownerReferences"] {
        meta::remove(&mut namespace, field);
    }
    Ok(namespace)
}
