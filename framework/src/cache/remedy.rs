use crate::{client::Error, resource::ApiResource};

/// What would mend a request for `resource` in `namespace` (`None`: in all of them) that failed, if
/// that can be said: the rule that is missing, or what is to be installed.
pub(super) fn remedy(
    resource: &ApiResource,
    namespace: Option<&str>,
    error: &Error,
) -> Option<String> {
    let ApiResource { group, plural, .. } = resource;
    if error.is_forbidden() {
        let role = match namespace.filter(|_| resource.namespaced) {
            Some(namespace) => format!("a Role in {namespace}"),
            None => "a ClusterRole".to_owned(),
        };
        let message = error.status().map(|status| &*status.message);
        let whom = message.and_then(user).unwrap_or("this identity");
        return Some(format!(
            "bind {whom} to {role} with apiGroups: [\"{group}\"], resources: [\"{plural}\"], \
             verbs: [\"get\", \"list\", \"watch\"]"
        ));
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
        format!("it takes a server that serves {group_version}, {plural} included")
    })
}

/// `x` of `… is forbidden: User "x" cannot list …`.
fn user(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("User \"")?;
    let (user, _) = rest.split_once("\" cannot")?;
    Some(user).filter(|user| !user.is_empty())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};

    use super::*;
    use crate::cache::fake::status;

    #[test]
    fn it_says_who_needs_which_rule_where() {
        let message = "deployments.apps is forbidden: User \"system:serviceaccount:shop:op\" \
                       cannot list resource \"deployments\" in API group \"apps\"";
        let error = status(403, "Forbidden", message);
        assert_eq!(
            remedy(&ApiResource::of::<Deployment>(), Some("shop"), &error).unwrap(),
            "bind system:serviceaccount:shop:op to a Role in shop with apiGroups: [\"apps\"], \
             resources: [\"deployments\"], verbs: [\"get\", \"list\", \"watch\"]"
        );
        let error = status(403, "Forbidden", "no");
        let cluster_wide = remedy(&ApiResource::of::<Node>(), None, &error).unwrap();
        assert!(
            cluster_wide.starts_with("bind this identity to a ClusterRole with apiGroups: [\"\"]"),
            "{cluster_wide}"
        );
    }

    #[test]
    fn it_says_what_to_install_and_nothing_where_it_knows_nothing() {
        let mut kind = ApiResource::of::<Deployment>();
        let error = status(
            404,
            "NotFound",
            "the server could not find the requested resource",
        );
        assert_eq!(
            remedy(&kind, None, &error).unwrap(),
            "it takes a server that serves apps/v1, deployments included"
        );
        kind.group = "demo.example.com".into();
        assert_eq!(
            remedy(&kind, None, &error).unwrap(),
            "install the CustomResourceDefinition deployments.demo.example.com with its version v1"
        );
        assert_eq!(
            remedy(&kind, None, &status(500, "InternalError", "oops")),
            None
        );
    }
}
