/// The RBAC rule that a refusal of the API server's authorizer asks for, in the words of the caches; `None` for a
/// refusal of anything else, such as an admission webhook.
///
/// The message is that of Kubernetes' `ForbiddenStatusError`: `… is forbidden: User "u" cannot patch resource
/// "deployments" in API group "apps" in the namespace "shop"`, or `… at the cluster scope`. An apply creates what is not
/// there, so that its rule names `create` as well.
pub(super) fn missing_rule(message: &str, is_apply: bool) -> Option<String> {
    let (_, rest) = message.split_once("User \"")?;
    let (user, rest) = rest.split_once("\" cannot ")?;
    let (verb, rest) = rest.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once("\" in API group \"")?;
    let (group, rest) = rest.split_once('"')?;
    let namespace = rest.strip_prefix(" in the namespace \"");
    let role = match namespace.and_then(|rest| rest.split_once('"')) {
        Some((namespace, _)) => format!("a Role in {namespace}"),
        None => "a ClusterRole".to_owned(),
    };
    let user = if user.is_empty() {
        "this identity"
    } else {
        user
    };
    let creates = is_apply && verb == "patch" && !resource.contains('/');
    let verbs = match creates {
        true => format!("\"create\", \"{verb}\""),
        false => format!("\"{verb}\""),
    };
    Some(format!(
        "bind {user} to {role} with apiGroups: [\"{group}\"], resources: [\"{resource}\"], verbs: [{verbs}]"
    ))
}

#[cfg(test)]
mod tests {
    use super::missing_rule;

    #[test]
    fn a_refusal_of_the_authorizer_names_the_rule() {
        let shop = "configmaps \"page\" is forbidden: User \"system:serviceaccount:shop:op\" cannot patch resource \
                    \"configmaps\" in API group \"\" in the namespace \"shop\"";
        assert_eq!(
            missing_rule(shop, true).unwrap(),
            "bind system:serviceaccount:shop:op to a Role in shop with apiGroups: [\"\"], \
             resources: [\"configmaps\"], verbs: [\"create\", \"patch\"]"
        );
        let everywhere = "nodes \"a\" is forbidden: User \"op\" cannot patch resource \"nodes/status\" in API group \
                          \"\" at the cluster scope: RBAC: role \"x\" not found";
        assert_eq!(
            missing_rule(everywhere, true).unwrap(),
            "bind op to a ClusterRole with apiGroups: [\"\"], resources: [\"nodes/status\"], verbs: [\"patch\"]"
        );
    }

    #[test]
    fn a_refusal_of_admission_names_none() {
        for message in [
            "",
            "admission webhook \"x\" denied the request: no",
            "pods \"a\" is forbidden: exceeded quota: q",
            "User \"u\" cannot",
        ] {
            assert_eq!(missing_rule(message, true), None, "{message}");
        }
    }
}
