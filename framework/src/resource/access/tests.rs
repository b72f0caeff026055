use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Node, Secret},
};
use proptest::prelude::*;

use super::{Access, AccessRule, AccessScope, Permission};

fn permission() -> impl Strategy<Value = Permission> {
    let pick = |table: &'static [&'static str]| proptest::sample::select(table);
    let scope = prop_oneof![
        Just(AccessScope::Cluster),
        Just(AccessScope::Operator),
        pick(&["a", "b"]).prop_map(|name| AccessScope::Namespace(name.into())),
    ];
    let resource = pick(&["pods", "pods/log", "nodes", "*", "*/log"]);
    let name = proptest::option::of(pick(&["one", "two"]));
    let verb = pick(&["get", "list", "*"]);
    (scope, pick(&["", "apps", "*"]), resource, name, verb).prop_map(
        |(scope, group, resource, name, verb)| Permission {
            scope,
            group: group.into(),
            resource: resource.into(),
            name: name.map(str::to_owned),
            verb: verb.into(),
        },
    )
}

fn permissions() -> impl Strategy<Value = Vec<Permission>> {
    proptest::collection::vec(permission(), 0..12)
}

proptest! {
    #[test]
    fn a_set_allows_exactly_what_one_of_its_permissions_allows(all in permissions(), asked in permission()) {
        let access: Access = all.iter().cloned().collect();
        let expected = all.iter().any(|one| one.covers(&asked));
        prop_assert_eq!(access.permits(&asked), expected);
    }

    #[test]
    fn order_and_repetition_make_no_difference(one in permissions(), other in permissions()) {
        let collected = |parts: &[&Vec<Permission>]| -> Access {
            parts.iter().copied().flatten().cloned().collect()
        };
        let (left, right) = (collected(&[&one, &other]), collected(&[&other, &one, &other]));
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(&collected(&[&one]).and(collected(&[&other])), &left);
        prop_assert!(left.covers(&collected(&[&one])) && left.covers(&right));
    }

    #[test]
    fn the_rules_of_a_role_allow_exactly_what_the_set_allows(all in permissions()) {
        let access: Access = all.into_iter().collect();
        let wanted = |scope: &AccessScope| *scope == AccessScope::Cluster;
        let rules = access.policy_rules(wanted);
        let back: Access = rules
            .iter()
            .map(|rule| {
                let group = &rule.api_groups.as_ref().unwrap()[0];
                let resources = rule.resources.iter().flatten();
                let of = |resource| {
                    let whole = AccessRule::new(group, resource, rule.verbs.clone()).everywhere();
                    let names = rule.resource_names.iter().flatten();
                    Access::from(names.fold(whole, AccessRule::named))
                };
                resources.map(of).sum::<Access>()
            })
            .sum();
        let expected: Access = access.iter().filter(|one| wanted(&one.scope)).cloned().collect();
        prop_assert_eq!(back, expected);
    }
}

#[test]
fn similar_permissions_become_one_rule_and_the_order_is_stable() {
    let access: Access = [
        AccessRule::of::<Secret>(["watch", "get", "list"]),
        AccessRule::of::<Deployment>(["get"]).subresource("scale"),
        AccessRule::of::<ConfigMap>(["list", "watch"]),
        AccessRule::of::<ConfigMap>(["get", "list"]),
        AccessRule::of::<Secret>(["delete"]).named("b").named("a"),
    ]
    .into_iter()
    .map(Access::from)
    .sum();
    let rules = access.policy_rules(|_| true);
    let text = serde_json::to_string(&rules).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"[{"apiGroups":[""],"resources":["configmaps","secrets"],"verbs":["get","list","watch"]},"#,
            r#"{"apiGroups":[""],"resourceNames":["a","b"],"resources":["secrets"],"verbs":["delete"]},"#,
            r#"{"apiGroups":["apps"],"resources":["deployments/scale"],"verbs":["get"]}]"#
        )
    );
    assert_eq!(
        access.to_string(),
        r#"configmaps: get, list, watch; secrets: get, list, watch; secrets "a": delete; secrets "b": delete; deployments.apps/scale: get"#
    );
}

#[test]
fn a_rule_for_a_cluster_scoped_kind_has_cluster_scope() {
    let access = Access::from(AccessRule::of::<Node>(["get"]));
    assert!(access.iter().all(|one| one.scope == AccessScope::Cluster));
    assert_eq!(access.policy_rules(|one| *one == AccessScope::Operator), []);
}
