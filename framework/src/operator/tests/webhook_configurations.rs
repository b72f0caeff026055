//! The webhook configurations of an operator whose printed manifests somebody applies.

use k8s_openapi::api::{
    admissionregistration::v1::ValidatingWebhookConfiguration, core::v1::Secret,
};
use serde_json::{Value, json};

use super::world::{Process, Scribe, sandbox};
use crate::{
    client::{Api, Error, Patch, PatchParams},
    operator::{Operator, WebhookServing},
    server::Address,
    webhook::{Admission, Change, Denied, Validate, Warnings},
};

/// Allows everything.
struct Anything;

impl Validate for Anything {
    type Resource = Secret;

    async fn validate(&self, _: &Change<Secret>, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

fn operator(process: &Process) -> Operator {
    let serving = WebhookServing::new().address(Address::loopback(0));
    process
        .unelected(&Scribe::quick())
        .validates(Anything)
        .webhook_serving(serving)
}

/// The configuration as `manifests` prints it, with this timeout.
fn printed(timeout: i32) -> Value {
    let service = json!({
        "name": "scribe-webhook", "namespace": "default", "path": "/validate--v1-secret", "port": 443,
    });
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"], "scope": "Namespaced",
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "scribe"},
        "webhooks": [{
            "name": "validate.secrets.core", "clientConfig": {"service": service}, "rules": [rule], "timeoutSeconds": timeout,
            "failurePolicy": "Ignore", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        }],
    })
}

#[tokio::test]
async fn a_later_apply_of_other_rules_does_not_conflict_with_the_operator() {
    let sandbox = sandbox();
    let process = Process::of(&sandbox, "first");
    let api = Api::<ValidatingWebhookConfiguration>::all(&process.client);
    let apply = async |timeout| -> Result<(), Error> {
        let params = PatchParams::apply("kubectl");
        let configuration = Patch::Apply(printed(timeout));
        api.patch("scribe", &params, &configuration).await.map(drop)
    };
    let configured = async || api.get("scribe").await.unwrap().webhooks.unwrap().remove(0);
    apply(3).await.unwrap();
    let running = process.start(operator(&process)).await;
    let before = configured().await;
    assert!(before.client_config.ca_bundle.is_some());
    apply(7).await.unwrap();
    let after = configured().await;
    assert_eq!(after.timeout_seconds, Some(7));
    // The authority and the Service stay.
    assert_eq!(after.client_config, before.client_config);
    running.stop().await;
}
