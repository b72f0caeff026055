use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::client::{Client, MAPS, version};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const GADGETS: &str = "/apis/test.dev/v1/namespaces/default/gadgets";

fn definition() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.test.dev"},
        "spec": {
            "group": "test.dev",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

pub(crate) async fn define(client: &Client) {
    client.post(DEFINITIONS, &definition()).await.object();
    client.until(GADGETS, |answer| answer.code == 200).await;
}

pub(crate) async fn gadget(client: &Client, name: &str) {
    let gadget = json!({"apiVersion": "test.dev/v1", "kind": "Gadget", "metadata": {"name": name}});
    client.post(GADGETS, &gadget).await.object();
}

async fn items(client: &Client, path: &str) -> Value {
    client.get(path).await.json["items"].take()
}

#[tokio::test(start_paused = true)]
async fn a_restored_snapshot_has_the_objects_of_its_moment_and_no_others() {
    let client = Client::new().await;
    define(&client).await;
    gadget(&client, "a").await;
    let first = client.map("a", "one").await;
    let snapshot = client.sandbox.snapshot();
    let (maps, gadgets) = (items(&client, MAPS).await, items(&client, GADGETS).await);

    let map = format!("{MAPS}/a");
    let changed = client
        .patch(
            "application/merge-patch+json",
            &map,
            &json!({"data": {"a": "c"}}),
        )
        .await
        .object();
    client.map("b", "two").await;
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    for _ in 0..2 {
        watch.event().await;
    }
    client.delete(&map).await;
    watch.event().await;
    // The kind is defined anew, with other objects.
    client
        .delete(&format!("{DEFINITIONS}/gadgets.test.dev"))
        .await;
    client.until(GADGETS, |answer| answer.code == 404).await;
    define(&client).await;
    gadget(&client, "b").await;

    client.sandbox.restore(&snapshot);
    assert_eq!(items(&client, MAPS).await, maps);
    let (kind, status) = watch.event().await;
    assert_eq!((&*kind, &status["code"]), ("ERROR", &json!(410)));
    let restored = client
        .until(GADGETS, |answer| answer.json["items"] == gadgets)
        .await;
    assert_eq!(restored.code, 200);
    // Versions go on.
    let version = |object: &Value| {
        object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    assert!(version(&first) < version(&changed));
    assert!(version(&client.map("c", "three").await) > version(&changed));

    // What was defined only after the snapshot is gone.
    client
        .sandbox
        .restore(&Sandbox::builder().seed(2).build().unwrap().snapshot());
    client.until(GADGETS, |answer| answer.code == 404).await;
    assert_eq!(items(&client, MAPS).await, json!([]));
}

#[tokio::test(start_paused = true)]
async fn after_a_rewind_resource_versions_come_again() {
    let client = Client::new().await;
    define(&client).await;
    gadget(&client, "a").await;
    client.map("a", "one").await;
    let snapshot = client.sandbox.snapshot();
    let before = client.sandbox.resource_version();
    let first = client.map("b", "two").await;
    client
        .delete(&format!("{DEFINITIONS}/gadgets.test.dev"))
        .await;
    client.until(GADGETS, |answer| answer.code == 404).await;
    let late = client.sandbox.resource_version();
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    watch.event().await;
    watch.event().await;

    client.sandbox.rewind(&snapshot);
    assert!(watch.next().await.is_err(), "the watch goes on");
    assert!(client.sandbox.resource_version() >= before);
    let list = client.get(MAPS).await.json;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    // The controllers have noticed: the kind is served again, with its object.
    let gadgets = client.until(GADGETS, |answer| answer.code == 200).await;
    assert_eq!(gadgets.json["items"][0]["metadata"]["name"], "a");

    // A client that has seen a later version waits for it.
    let mut ahead = client
        .watch(&format!("{MAPS}?watch=1&resourceVersion={late}"))
        .await;
    let again = client.map("c", "three").await;
    assert!(number(&again) < late && number(&again) <= number(&first));
    let silent = tokio::time::timeout(std::time::Duration::from_secs(30), ahead.event()).await;
    assert!(silent.is_err(), "{silent:?}");
    while client.sandbox.resource_version() < late {
        client
            .post(MAPS, &json!({"metadata": {"generateName": "x"}}))
            .await;
    }
    let seen = client.map("d", "four").await;
    assert_eq!(ahead.event().await.1, seen);
}

fn number(object: &Value) -> u64 {
    version(object).parse().unwrap()
}
