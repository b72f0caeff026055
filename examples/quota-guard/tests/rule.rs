//! Decides which users may raise a limit.
#![cfg(feature = "dev")]

use pilothouse::{
    k8s::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject},
    prelude::*,
    testing::{self, OfflineAdmission},
};
use quota_guard::{QuotaGuard, QuotaGuardSpec, raise};

fn guard(pods: i32) -> QuotaGuard {
    QuotaGuard {
        metadata: ObjectMeta {
            name: Some("pods".into()),
            ..ObjectMeta::default()
        },
        spec: QuotaGuardSpec {
            pods,
            near_percent: 80,
        },
        status: None,
    }
}

// ANCHOR: rule
#[test]
fn the_rule_fits_the_kind() {
    testing::admission_rule(&raise()).unwrap();
}

#[tokio::test]
async fn a_user_lowers_a_limit_but_does_not_raise_it() {
    let admission = OfflineAdmission::new().rule(raise());
    admission.update(&guard(5), &guard(4)).await.unwrap();
    let denied = admission.update(&guard(5), &guard(6)).await.unwrap_err();
    assert_eq!(denied.code(), 403);
    assert!(denied.to_string().ends_with("may raise the limit"));
}
// ANCHOR_END: rule

#[tokio::test]
async fn who_has_the_verb_raises_a_limit() {
    let mut role = ClusterRole::named("raisers");
    role.rules = Some(vec![PolicyRule {
        api_groups: Some(vec!["demo.pilothouse.dev".into()]),
        resources: Some(vec!["quotaguards".into()]),
        verbs: vec!["raise".into()],
        ..PolicyRule::default()
    }]);
    let mut binding = ClusterRoleBinding::named("raisers");
    binding.role_ref = RoleRef {
        api_group: Some("rbac.authorization.k8s.io".into()),
        kind: "ClusterRole".into(),
        name: "raisers".into(),
    };
    binding.subjects = Some(vec![Subject {
        api_group: Some("rbac.authorization.k8s.io".into()),
        kind: "User".into(),
        name: "ann".into(),
        namespace: None,
    }]);
    let admission = OfflineAdmission::new()
        .rule(raise())
        .cached(&role)
        .cached(&binding)
        .user("ann", [""; 0]);
    let (raised, _) = admission.update(&guard(5), &guard(6)).await.unwrap();
    assert_eq!(raised.spec.pods, 6);
}
