use crate::{
    client::{Error, role_advice},
    resource::ApiResource,
};

/// What the user should do about a failed request for `resource` in `namespace` (`None` means all namespaces): which
/// RBAC rule is missing, or what to install. Returns `None` if the error does not tell.
pub(crate) fn error_hint(
    resource: &ApiResource,
    namespace: Option<&str>,
    error: &Error,
) -> Option<String> {
    let ApiResource { group, plural, .. } = resource;
    if error.is_forbidden() {
        let message = error.status().map_or("", |status| &*status.message);
        let namespace = namespace.filter(|_| resource.namespaced);
        let verbs = ["get", "list", "watch"];
        return Some(role_advice(message, namespace, &[group], plural, &verbs));
    }
    if !error.is_not_found() {
        return None;
    }
    let version = &resource.version;
    let is_custom = group.contains('.') && !group.ends_with(".k8s.io");
    Some(if is_custom {
        format!("install the CustomResourceDefinition {plural}.{group} with its version {version}")
    } else {
        let group_version = [&**group, &**version].join("/");
        let group_version = group_version.trim_start_matches('/');
        format!("the API server must serve {group_version} with {plural}")
    })
}

/// Several problems in one text. Beyond the first 16 they are only counted.
pub(crate) fn joined(mut problems: Vec<String>) -> String {
    const SHOWN: usize = 16;
    let more = problems.len().saturating_sub(SHOWN);
    problems.truncate(SHOWN);
    let text = problems.join("; ");
    match more {
        0 => text,
        more => format!("{text} (and {more} more)"),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};

    use super::*;
    use crate::cache::fake::status;

    #[test]
    fn a_forbidden_request_names_the_user_the_rule_and_the_namespace() {
        let message = "deployments.apps is forbidden: User \"system:serviceaccount:shop:op\" \
                       cannot list resource \"deployments\" in API group \"apps\"";
        let error = status(403, "Forbidden", message);
        assert_eq!(
            error_hint(&ApiResource::of::<Deployment>(), Some("shop"), &error).unwrap(),
            "bind system:serviceaccount:shop:op to a Role in shop with apiGroups: [\"apps\"], \
             resources: [\"deployments\"], verbs: [\"get\", \"list\", \"watch\"]"
        );
        let error = status(403, "Forbidden", "no");
        let cluster_wide = error_hint(&ApiResource::of::<Node>(), None, &error).unwrap();
        assert!(
            cluster_wide.starts_with("bind this identity to a ClusterRole with apiGroups: [\"\"]"),
            "{cluster_wide}"
        );
    }

    #[test]
    fn an_unknown_kind_names_what_to_install_and_other_errors_have_no_hint() {
        let mut kind = ApiResource::of::<Deployment>();
        let error = status(
            404,
            "NotFound",
            "the server could not find the requested resource",
        );
        assert_eq!(
            error_hint(&kind, None, &error).unwrap(),
            "the API server must serve apps/v1 with deployments"
        );
        kind.group = "demo.example.com".into();
        assert_eq!(
            error_hint(&kind, None, &error).unwrap(),
            "install the CustomResourceDefinition deployments.demo.example.com with its version v1"
        );
        assert_eq!(
            error_hint(&kind, None, &status(500, "InternalError", "oops")),
            None
        );
    }
}
