//! With RBAC a user writes only roles and bindings that grant what the user has.

use serde_json::{Value, json};

use super::{Target, WriteOptions};
use crate::authorization::{Action, ActionTarget, MASTERS, Mode, RBAC};
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;

/// Checks that a user who writes a role or a binding has the permissions that it grants, or may `escalate` or `bind`.
///
/// # Errors
/// 403 if the user has not; 404 if the role of a binding does not exist.
pub(super) fn check(
    core: &Core,
    target: &Target,
    options: &WriteOptions,
    old: Option<&Value>,
    new: &Value,
) -> Result<(), ApiError> {
    let user = &options.user;
    let is_master = user.groups.iter().any(|group| group == MASTERS);
    let Some(path_name) = &options.guard else {
        return Ok(());
    };
    if core.authorization == Mode::AlwaysAllow
        || target.kind.group != RBAC
        || is_master
        || old.is_some_and(|old| is_for_deletion(old, new))
    {
        return Ok(());
    }
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let forbidden = |why: &str| {
        Err(ApiError::forbidden(
            &target.resource(),
            meta::name(new),
            why,
        ))
    };
    let may = |verb: &str, resource: &str, name: &str| {
        let action = Action {
            verb: verb.into(),
            target: ActionTarget::Resource {
                group: RBAC.into(),
                resource: resource.into(),
                subresource: String::new(),
                namespace: namespace.into(),
                name: name.into(),
            },
        };
        core.decide(user, &action).allowed
    };
    let granted = match target.kind.kind.as_str() {
        "Role" | "ClusterRole" => {
            if may("escalate", &target.kind.plural, path_name) {
                return Ok(());
            }
            let rules = new.get("rules").and_then(Value::as_array);
            rules.cloned().unwrap_or_default()
        }
        _ => {
            let role = new.get("roleRef").unwrap_or(&Value::Null);
            let text = |field: &str| role.get(field).and_then(Value::as_str).unwrap_or_default();
            let plural = match text("kind") {
                "Role" => "roles",
                "ClusterRole" => "clusterroles",
                // The validation refuses it.
                _ => return Ok(()),
            };
            if may("bind", plural, text("name")) {
                return Ok(());
            }
            core.rules_of_role(new, namespace)
                .map_err(|why| ApiError::new(404, "NotFound", why))?
        }
    };
    let missing = |granted: &[Value]| core.missing_rights(user, namespace, granted);
    if let Some(why) = missing(&granted) {
        return forbidden(&why);
    }
    let gathers = |role: &Value| {
        let selectors = role.pointer("/aggregationRule/clusterRoleSelectors");
        let selectors = selectors.and_then(Value::as_array);
        selectors.is_some_and(|selectors| !selectors.is_empty())
    };
    // Its rules can become any.
    if gathers(new) || old.is_some_and(gathers) {
        let everything = [
            json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
            json!({"verbs": ["*"], "nonResourceURLs": ["*"]}),
        ];
        if missing(&everything).is_some() {
            return forbidden("must have cluster-admin privileges to use the aggregationRule");
        }
    }
    Ok(())
}

/// Whether a change concerns only what the garbage collector needs to delete an object.
fn is_for_deletion(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
            meta::remove(&mut object, field);
        }
        object
    };
    rest(old) == rest(new)
}
