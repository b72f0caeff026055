use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    client::{Api, Client, DeleteParams, Error, ListParams, Patch, PatchParams},
    resource::{ApiResource, DynamicObject, Object, PartialObject},
};

/// The version of the policies.
pub(super) const VERSION: &str = "v1";

/// The kinds of the objects of rules, in the order in which they are removed: without a binding a policy has no effect.
pub(crate) fn kinds() -> [ApiResource; 4] {
    [
        (
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
        ),
        (
            "MutatingAdmissionPolicyBinding",
            "mutatingadmissionpolicybindings",
        ),
        ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
        ("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
    ]
    .map(|(kind, plural)| ApiResource {
        group: "admissionregistration.k8s.io".into(),
        version: VERSION.into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced: false,
    })
}

/// Whether an object is one of a rule.
pub(crate) fn is_rule_kind(kind: &str) -> bool {
    kinds().iter().any(|one| one.kind == kind)
}

/// Applies the policies of an operator.
///
/// # Errors
/// The error of a request, with the kind.
pub(crate) async fn install(
    client: &Client,
    operator: &str,
    policies: &[Value],
) -> Result<(), (String, Error)> {
    for policy in policies {
        let Some(kind) = kinds().into_iter().find(|one| policy["kind"] == *one.kind) else {
            continue;
        };
        let shown = kind.kind.to_string();
        let api = Api::<DynamicObject>::of(client, kind, None);
        let params = PatchParams::apply(operator).force();
        let name = policy["metadata"]["name"].as_str().unwrap_or_default();
        let applied = api
            .patch(name, &params, &Patch::Apply(policy.clone()))
            .await;
        applied.map_err(|error| (shown, error))?;
    }
    Ok(())
}

/// Removes the policies and bindings of the operator that are not among these. A person who may not list them leaves them where they are.
///
/// # Errors
/// The error of a request.
pub(crate) async fn prune(
    client: &Client,
    operator: &str,
    selector: &str,
    policies: &[Value],
) -> Result<(), Error> {
    let prefix = format!("{operator}.");
    for kind in kinds() {
        let wanted: BTreeSet<&str> = policies
            .iter()
            .filter(|one| one["kind"] == *kind.kind)
            .filter_map(|one| one["metadata"]["name"].as_str())
            .collect();
        let api = Api::<PartialObject>::of(client, kind, None);
        let listed = api.list_all(&ListParams::default().labels(selector)).await;
        let listed = match listed {
            // Servers before 1.36 have no defaults.
            Err(error) if error.is_forbidden() || error.is_not_found() => continue,
            listed => listed?,
        };
        for object in &listed.items {
            let name = object.name();
            if name.starts_with(&prefix) && !wanted.contains(name) {
                match api.delete(name, &DeleteParams::default()).await {
                    Err(error) if !error.is_not_found() => return Err(error),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}
