//! What replicas of one or of two versions of an operator write into the cluster.

use std::sync::Arc;

use k8s_openapi::api::{
    admissionregistration::v1::ValidatingWebhookConfiguration,
    core::v1::{ConfigMap, Pod},
};
use pilothouse_sandbox::Sandbox;
use serde_json::json;

use super::{
    Admission, Change, Denied, Target, Validate, Warnings, Webhook, installer::Installer,
    server::WebhookError,
};
use crate::{
    client::{Api, Client, Config, Patch, PatchParams},
    resource::ApiResource,
};

/// A client of the API server in memory.
pub(super) fn connected(sandbox: &Sandbox) -> Client {
    let pipes = sandbox.clone();
    Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
        .connector(Arc::new(move || Ok(pipes.connect())))
        .build()
        .unwrap()
}

struct AnyMap;

impl Validate for AnyMap {
    type Resource = ConfigMap;

    async fn validate(&self, _: &Change<ConfigMap>, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

struct AnyPod;

impl Validate for AnyPod {
    type Resource = Pod;

    async fn validate(&self, _: &Change<Pod>, _: &Admission) -> Result<Warnings, Denied> {
        Ok(Warnings::none())
    }
}

/// The installer of a replica with one webhook, or with two.
pub(super) fn installer(client: &Client, webhooks: usize) -> Installer {
    let all = [
        Webhook::validating(ApiResource::of::<ConfigMap>(), AnyMap),
        Webhook::validating(ApiResource::of::<Pod>(), AnyPod),
    ];
    Installer {
        client: client.clone(),
        operator: "scribe".into(),
        namespace: "default".into(),
        namespaces: Default::default(),
        webhooks: all.into_iter().take(webhooks).collect(),
        conversions: Vec::new(),
        target: Target::service_of("scribe", "default"),
    }
}

/// The name and the bundle of each webhook in the cluster.
pub(super) async fn configured(client: &Client) -> Vec<(String, Vec<u8>)> {
    let api = Api::<ValidatingWebhookConfiguration>::all(client);
    let found = api.get("scribe").await.unwrap().webhooks;
    let webhooks = found.into_iter().flatten();
    let pairs = webhooks.map(|one| {
        let bundle = one.client_config.ca_bundle;
        (one.name, bundle.map(|pem| pem.0).unwrap_or_default())
    });
    pairs.collect()
}

#[tokio::test]
async fn an_older_version_does_not_take_back_the_webhooks_of_a_newer_one() {
    let client = connected(&Sandbox::builder().build().unwrap());
    let (older, newer) = (installer(&client, 1), installer(&client, 2));
    older.install(Some(b"a"), true).await.unwrap();
    newer.install(Some(b"a"), true).await.unwrap();
    let both = configured(&client).await;
    assert_eq!(both.len(), 2);
    // The next check of the older version, which still runs.
    older.install(Some(b"a"), false).await.unwrap();
    older.install(Some(b"b"), false).await.unwrap();
    assert_eq!(configured(&client).await, both);
    // The newer one looks after them.
    newer.install(Some(b"b"), false).await.unwrap();
    let bundles = configured(&client).await.into_iter().map(|one| one.1);
    assert_eq!(bundles.collect::<Vec<_>>(), [b"b", b"b"]);
}

#[tokio::test]
async fn replicas_write_as_one_manager_and_write_nothing_twice() {
    let sandbox = Sandbox::builder().build().unwrap();
    let client = connected(&sandbox);
    let (first, second) = (installer(&client, 1), installer(&client, 1));
    let api = Api::<ValidatingWebhookConfiguration>::all(&client).with_managed_fields();
    first.install(Some(b"a"), true).await.unwrap();
    let written = api.get("scribe").await.unwrap();
    second.install(Some(b"a"), true).await.unwrap();
    let found = api.get("scribe").await.unwrap();
    assert_eq!(found, written);
    let managers = found.metadata.managed_fields.into_iter().flatten();
    let managers = managers.map(|one| (one.manager, one.operation));
    let expected = (Some("scribe-webhooks".into()), Some("Apply".into()));
    assert_eq!(managers.collect::<Vec<_>>(), [expected]);
    // A later look only reads.
    let before = sandbox.requests().len();
    second.install(Some(b"a"), false).await.unwrap();
    let verbs = sandbox.requests().split_off(before);
    let verbs = verbs.into_iter().map(|one| one.verb);
    assert_eq!(verbs.collect::<Vec<_>>(), ["get"]);
}

#[tokio::test]
async fn a_bundle_that_somebody_has_removed_is_written_again() {
    let client = connected(&Sandbox::builder().build().unwrap());
    let replica = installer(&client, 1);
    replica.install(Some(b"a"), true).await.unwrap();
    let before = configured(&client).await;
    let api = Api::<ValidatingWebhookConfiguration>::all(&client);
    let removal = json!([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]);
    let removal = Patch::Json(serde_json::from_value(removal).unwrap());
    let params = PatchParams::default();
    api.patch("scribe", &params, &removal).await.unwrap();
    assert_ne!(configured(&client).await, before);
    replica.install(Some(b"a"), false).await.unwrap();
    assert_eq!(configured(&client).await, before);
}

#[tokio::test]
async fn a_second_installation_in_another_namespace_takes_nothing_over() {
    let client = connected(&Sandbox::builder().build().unwrap());
    let first = installer(&client, 1);
    let second = Installer {
        namespace: "blue".into(),
        target: Target::service_of("scribe", "blue"),
        ..installer(&client, 1)
    };
    // Nobody runs yet where the applied configuration leads.
    first.install(None, true).await.unwrap();
    second.install(Some(b"b"), true).await.unwrap();
    let before = configured(&client).await;
    let refused = first.install(Some(b"a"), true).await.unwrap_err();
    assert!(
        matches!(&refused, WebhookError::OtherInstallation { other, own, .. } if other == "blue" && own == "default"),
        "{refused}"
    );
    assert_eq!(configured(&client).await, before);
    // The running installation goes on.
    second.install(Some(b"c"), false).await.unwrap();
    assert_eq!(configured(&client).await[0].1, b"c");
}
