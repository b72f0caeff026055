use std::sync::Arc;

use serde_json::{Value, json};

use super::{Action, Mode, grant, rule};
use crate::authentication::User;
use crate::meta;
use crate::registry::GroupResource;
use crate::store::{Key, Store};

/// The group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
/// The group whose members may do everything.
pub(crate) const MASTERS: &str = "system:masters";

/// The decision of the authorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    /// The binding that allows the action, or the role that is missing; often empty.
    pub(crate) reason: String,
}

/// What a user may do in a namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rules {
    /// The rules of the roles that are bound to the user.
    pub(crate) rules: Vec<Value>,
    /// The roles that are missing; empty if none is.
    pub(crate) error: String,
}

/// The rules that apply to a user in a namespace. As on a real server, the group [`MASTERS`] adds none: what it may do stands
/// in no role. The binding of `cluster-admin` usually says the same.
pub(crate) fn rules_for(mode: Mode, store: &Store, user: &User, namespace: &str) -> Rules {
    if mode == Mode::AlwaysAllow {
        return Rules {
            rules: vec![
                json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
                json!({"verbs": ["*"], "nonResourceURLs": ["*"]}),
            ],
            error: String::new(),
        };
    }
    let mut found = Rules::default();
    let mut missing = Vec::new();
    for (binding, place) in places(store, namespace) {
        if subject(&binding, user, place).is_some() {
            match rules(store, &binding, place) {
                Ok(rules) => found.rules.extend(rules),
                Err(error) => missing.push(error),
            }
        }
    }
    found.error = listed(&missing);
    found
}

/// What `granted` contains that a user may not do in a namespace, with the text of kube-apiserver. `None` if there is nothing.
pub(crate) fn missing_rights(
    mode: Mode,
    store: &Store,
    user: &User,
    namespace: &str,
    granted: &[Value],
) -> Option<String> {
    if may_do_everything(mode, user) {
        return None;
    }
    let own = rules_for(mode, store, user, namespace);
    let missing = grant::missing(&own.rules, granted);
    if missing.is_empty() {
        return None;
    }
    let (name, groups) = (&user.name, grant::listed(&user.groups));
    let missing = missing.join("\n");
    let errors = match own.error.as_str() {
        "" => String::new(),
        error => format!("; resolution errors: [{error}]"),
    };
    Some(format!(
        "user {name:?} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{missing}{errors}"
    ))
}

fn may_do_everything(mode: Mode, user: &User) -> bool {
    mode == Mode::AlwaysAllow || user.groups.iter().any(|group| group == MASTERS)
}

/// The bindings that apply in a namespace, each with the namespace of its roles: none for those that apply everywhere.
fn places<'a>(store: &Store, namespace: &'a str) -> Vec<(Arc<Value>, &'a str)> {
    let everywhere = bindings(store, "clusterrolebindings", None);
    let here = match namespace {
        "" => Vec::new(),
        namespace => bindings(store, "rolebindings", Some(namespace)),
    };
    let everywhere = everywhere.into_iter().map(|binding| (binding, ""));
    everywhere
        .chain(here.into_iter().map(|binding| (binding, namespace)))
        .collect()
}

/// Errors in the form in which a real server lists them.
fn listed(errors: &[String]) -> String {
    match errors {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// Decides whether a user may do something.
pub(crate) fn decide(mode: Mode, store: &Store, user: &User, action: &Action) -> Decision {
    if may_do_everything(mode, user) {
        return Decision {
            allowed: true,
            reason: String::new(),
        };
    }
    let mut missing = Vec::new();
    for (binding, namespace) in places(store, action.namespace()) {
        let binding = &binding;
        let Some(subject) = subject(binding, user, namespace) else {
            continue;
        };
        let rules = match rules(store, binding, namespace) {
            Ok(rules) => rules,
            Err(error) => {
                missing.push(error);
                continue;
            }
        };
        if rules.iter().any(|rule| rule::allows(rule, action)) {
            return Decision {
                allowed: true,
                reason: format!(
                    "RBAC: allowed by {} to {}",
                    described(binding, namespace),
                    described_subject(subject, namespace)
                ),
            };
        }
    }
    let reason = match listed(&missing) {
        none if none.is_empty() => none,
        missing => format!("RBAC: {missing}"),
    };
    Decision {
        allowed: false,
        reason,
    }
}

fn bindings(store: &Store, plural: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
    let resource = GroupResource::new(GROUP, plural);
    match store.list(&resource, namespace, None, None) {
        Some(Ok(snapshot)) => {
            let objects = snapshot.entries.into_iter().map(|entry| entry.object);
            objects.collect()
        }
        _ => Vec::new(),
    }
}

/// The rules of the role that a binding names.
///
/// # Errors
/// The reason why there are no rules: the role does not exist, or its kind is unknown.
pub(crate) fn rules(store: &Store, binding: &Value, namespace: &str) -> Result<Vec<Value>, String> {
    let (kind, name) = role(binding);
    let (plural, place) = match kind {
        "Role" => ("roles", Some(namespace)),
        "ClusterRole" => ("clusterroles", None),
        other => return Err(format!("unsupported role reference kind: {other:?}")),
    };
    let resource = GroupResource::new(GROUP, plural);
    let role = store.get(&resource, &Key::new(place, name));
    let singular = plural.trim_end_matches('s');
    let role = role.ok_or_else(|| format!("{singular}.{GROUP} {name:?} not found"))?;
    let rules = role.object.get("rules").and_then(Value::as_array);
    Ok(rules.cloned().unwrap_or_default())
}

/// The first subject of a binding that matches the user.
fn subject<'a>(binding: &'a Value, user: &User, namespace: &str) -> Option<&'a Value> {
    let mut subjects = binding.get("subjects")?.as_array()?.iter();
    subjects.find(|subject| {
        let name = text(subject, "name");
        match text(subject, "kind") {
            "User" => user.name == name,
            "Group" => user.groups.iter().any(|group| group == name),
            "ServiceAccount" => {
                let place = place(subject, namespace);
                !place.is_empty() && user.name == format!("system:serviceaccount:{place}:{name}")
            }
            _ => false,
        }
    })
}

/// The namespace of a service account: its own, or the namespace of the binding.
fn place<'a>(subject: &'a Value, namespace: &'a str) -> &'a str {
    match text(subject, "namespace") {
        "" => namespace,
        own => own,
    }
}

fn described(binding: &Value, namespace: &str) -> String {
    let (kind, role) = role(binding);
    let name = meta::name(binding);
    if namespace.is_empty() {
        return format!("ClusterRoleBinding {name:?} of {kind} {role:?}");
    }
    let name = format!("{name}/{namespace}");
    format!("RoleBinding {name:?} of {kind} {role:?}")
}

fn described_subject(subject: &Value, namespace: &str) -> String {
    let (kind, name) = (text(subject, "kind"), text(subject, "name"));
    if kind != "ServiceAccount" {
        return format!("{kind} {name:?}");
    }
    let name = format!("{name}/{}", place(subject, namespace));
    format!("{kind} {name:?}")
}

fn role(binding: &Value) -> (&str, &str) {
    let reference = binding.get("roleRef").unwrap_or(&Value::Null);
    (text(reference, "kind"), text(reference, "name"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}
