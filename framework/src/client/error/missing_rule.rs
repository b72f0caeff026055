/// The RBAC rule that a refused request needs, as the message of the API server's authorizer tells it.
///
/// The message is that of Kubernetes' `ForbiddenStatusError`: `… is forbidden: User "u" cannot patch resource
/// "deployments" in API group "apps" in the namespace "shop"`, or `… at the cluster scope`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MissingRule<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    /// The plural, and the subresource: `websites/status`.
    pub(crate) resource: &'a str,
    /// `None` if a Role in a namespace is not enough.
    pub(crate) namespace: Option<&'a str>,
    user: &'a str,
}

impl<'a> MissingRule<'a> {
    /// Returns `None` if something else than the authorizer refused the request, such as an admission webhook.
    pub(crate) fn of(message: &'a str) -> Option<Self> {
        let (_, rest) = message.split_once("User \"")?;
        let (user, rest) = rest.split_once("\" cannot ")?;
        let (verb, rest) = rest.split_once(" resource \"")?;
        let (resource, rest) = rest.split_once("\" in API group \"")?;
        let (group, rest) = rest.split_once('"')?;
        let namespace = rest.strip_prefix(" in the namespace \"");
        let namespace = namespace.and_then(|rest| rest.split_once('"'));
        // The message about a Namespace names it twice, although the kind is cluster-scoped.
        let is_namespace = group.is_empty() && resource.split('/').next() == Some("namespaces");
        Some(Self {
            verb,
            group,
            resource,
            namespace: namespace.map(|(name, _)| name).filter(|_| !is_namespace),
            user,
        })
    }

    /// What to do. An apply creates an object that does not exist, so its rule needs `create` as well.
    pub(crate) fn advice(&self, is_apply: bool) -> String {
        let creates = is_apply && self.verb == "patch" && !self.resource.contains('/');
        let verbs: &[&str] = match creates {
            true => &["create", self.verb],
            false => &[self.verb],
        };
        binding(
            Some(self.user),
            self.namespace,
            &[self.group],
            self.resource,
            verbs,
        )
    }
}

/// The advice to bind the user that `message` names, if any, to a role with this rule: a Role in `namespace`, or a
/// ClusterRole.
pub(crate) fn role_advice(
    message: &str,
    namespace: Option<&str>,
    groups: &[&str],
    resource: &str,
    verbs: &[&str],
) -> String {
    let user = message.split_once("User \"");
    let user = user.and_then(|(_, rest)| rest.split_once("\" cannot"));
    binding(
        user.map(|(user, _)| user),
        namespace,
        groups,
        resource,
        verbs,
    )
}

fn binding(
    user: Option<&str>,
    namespace: Option<&str>,
    groups: &[&str],
    resource: &str,
    verbs: &[&str],
) -> String {
    let user = user
        .filter(|user| !user.is_empty())
        .unwrap_or("this identity");
    let role = match namespace {
        Some(namespace) => format!("a Role in {namespace}"),
        None => "a ClusterRole".to_owned(),
    };
    let quoted = |all: &[&str]| {
        let all: Vec<_> = all.iter().map(|one| format!("\"{one}\"")).collect();
        all.join(", ")
    };
    let (groups, verbs) = (quoted(groups), quoted(verbs));
    format!(
        "bind {user} to {role} with apiGroups: [{groups}], resources: [\"{resource}\"], verbs: [{verbs}]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(message: &str) -> String {
        MissingRule::of(message).unwrap().advice(true)
    }

    #[test]
    fn the_message_of_the_authorizer_leads_to_the_rule() {
        let shop = "configmaps \"page\" is forbidden: User \"system:serviceaccount:shop:op\" cannot patch resource \
                    \"configmaps\" in API group \"\" in the namespace \"shop\"";
        assert_eq!(
            advice(shop),
            "bind system:serviceaccount:shop:op to a Role in shop with apiGroups: [\"\"], \
             resources: [\"configmaps\"], verbs: [\"create\", \"patch\"]"
        );
        let everywhere = "nodes \"a\" is forbidden: User \"op\" cannot patch resource \"nodes/status\" in API group \
                          \"\" at the cluster scope: RBAC: role \"x\" not found";
        assert_eq!(
            advice(everywhere),
            "bind op to a ClusterRole with apiGroups: [\"\"], resources: [\"nodes/status\"], verbs: [\"patch\"]"
        );
    }

    #[test]
    fn the_rule_for_a_namespace_belongs_into_a_cluster_role() {
        let message = "namespaces \"team\" is forbidden: User \"op\" cannot patch resource \"namespaces\" in API group \
                       \"\" in the namespace \"team\"";
        assert!(advice(message).starts_with("bind op to a ClusterRole with "));
    }

    #[test]
    fn the_message_of_an_admission_webhook_leads_to_no_rule() {
        for message in [
            "",
            "admission webhook \"x\" denied the request: no",
            "pods \"a\" is forbidden: exceeded quota: q",
            "User \"u\" cannot",
        ] {
            assert_eq!(MissingRule::of(message), None, "{message}");
        }
    }
}
