//! Operators that do not become ready in a cluster of a test.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use pilothouse_sandbox::{Answer, RequestMatcher, Sandbox};

use super::Cluster;
use crate::{
    controller::{Action, Context, Reconciler, Result},
    operator::Operator,
    webhook::{Admission, Change, Denied, Validate, Warnings},
};

struct Nothing;

impl Reconciler for Nothing {
    type Resource = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result {
        Ok(Action::wait())
    }
}

struct Anything;

impl Validate for Anything {
    type Resource = Secret;

    async fn validate(&self, _: &Change<Secret>, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_without_a_role_that_its_cache_needs_fails_with_the_right_that_is_missing() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).rbac(true)).unwrap();
    let operator = || Operator::new("nothing").controller(Nothing);
    let mut roles = operator().roles("ops").unwrap();
    for role in &mut roles.cluster_roles {
        role.rules = None;
    }
    let error = cluster.run_with_roles(operator(), &roles).await;
    let error = error.err().unwrap().to_string();
    assert!(
        error.starts_with("the operator is not ready after 60 s:\n  "),
        "{error}"
    );
    assert!(error.contains("configmaps"), "{error}");
    assert!(error.contains("forbidden"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_operator_whose_webhooks_cannot_be_configured_fails_with_the_reason() {
    let cluster = Cluster::start().unwrap();
    let configurations = RequestMatcher::any().resource("validatingwebhookconfigurations");
    let down = Answer::status(503, "ServiceUnavailable").message("no leader");
    cluster.faults().answer(configurations, down, usize::MAX);
    let operator = Operator::new("nothing").validates(Anything);
    let error = cluster.run(operator).await.err().unwrap().to_string();
    assert!(
        error.starts_with("the operator is not ready after 60 s:\n  webhooks: "),
        "{error}"
    );
    assert!(error.contains("no leader"), "{error}");
}
