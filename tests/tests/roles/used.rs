//! Which permissions the requests of an operator need.

use pilothouse::{k8s::api::rbac::v1::PolicyRule, manifests::Roles, testing::RecordedRequest};

/// Whether these roles of the operator refuse any of its requests.
pub(super) fn refuse_any(roles: &Roles, operator: &str, requests: &[RecordedRequest]) -> bool {
    requests.iter().any(|request| {
        let mut verbs = verbs(request).into_iter();
        verbs.any(|verb| !allow(roles, operator, verb, request))
    })
}

/// The verbs for which the server asks. An apply that creates the object needs two.
fn verbs(request: &RecordedRequest) -> Vec<&str> {
    let is_apply = request.content_type.starts_with("application/apply-patch+");
    match is_apply && request.status == 201 {
        true => vec!["patch", "create"],
        false => vec![&request.verb],
    }
}

fn allow(roles: &Roles, operator: &str, verb: &str, request: &RecordedRequest) -> bool {
    let everywhere = roles.cluster_roles.iter();
    // The other ClusterRoles are for people.
    let everywhere = everywhere.filter(|role| role.metadata.name.as_deref() == Some(operator));
    let here = roles.roles.iter();
    let here = here.filter(|role| role.metadata.namespace.as_deref() == Some(&request.namespace));
    let rules = everywhere
        .map(|role| &role.rules)
        .chain(here.map(|role| &role.rules));
    rules
        .flatten()
        .flatten()
        .any(|rule| is_for(rule, verb, request))
}

fn is_for(rule: &PolicyRule, verb: &str, request: &RecordedRequest) -> bool {
    let has = |all: &Option<Vec<String>>, one: &str| all.iter().flatten().any(|any| any == one);
    let resource = match &*request.subresource {
        "" => request.resource.clone(),
        part => format!("{}/{part}", request.resource),
    };
    rule.verbs.iter().any(|one| one == verb)
        && has(&rule.api_groups, &request.group)
        && has(&rule.resources, &resource)
        && (rule.resource_names.is_none() || has(&rule.resource_names, &request.name))
}
