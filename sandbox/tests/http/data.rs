//! A sandbox whose objects outlive it.

use std::time::Duration;

use pilothouse_sandbox::{BuildError, Builder, Sandbox};
use serde_json::{Value, json};

use crate::client::{Answer, Client, DEFINITIONS, DEPLOYMENTS, MAPS, NAMESPACES};
use crate::snapshots::{GADGETS, define, gadget};

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

async fn start(folder: &tempfile::TempDir, with: impl FnOnce(Builder) -> Builder) -> Client {
    let builder = with(Sandbox::builder().data(folder.path()));
    Client::of(builder.build().unwrap()).await
}

async fn stop(client: Client) {
    client.sandbox.shutdown().await;
    drop(client);
}

#[tokio::test]
async fn objects_definitions_and_tokens_are_there_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let client = start(&folder, |builder| builder.rbac(true)).await;
    define(&client).await;
    gadget(&client, "a").await;
    let map = client.map("a", "one").await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    client.post(accounts, &account).await.object();
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let issued = client.post(&format!("{accounts}/a/token"), &request).await;
    let token = issued.object()["status"]["token"].take();
    let before = [
        client.get(DEFINITIONS).await.json["items"].take(),
        client.get(GADGETS).await.json["items"].take(),
        client.get(NAMESPACES).await.json["items"].take(),
    ];
    let server = client
        .sandbox
        .serve_https("127.0.0.1:0".parse().unwrap())
        .await;
    let addr = server.as_ref().unwrap().addr();
    let kubeconfig = client.sandbox.kubeconfig(server.as_ref().unwrap());
    drop(server);
    stop(client).await;

    let client = start(&folder, |builder| builder.rbac(true)).await;
    assert_eq!(client.get(&format!("{MAPS}/a")).await.json, map);
    let after = [
        client.get(DEFINITIONS).await.json["items"].take(),
        client.get(GADGETS).await.json["items"].take(),
        client.get(NAMESPACES).await.json["items"].take(),
    ];
    assert_eq!(after, before);
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let status = client.post(reviews, &review).await.object()["status"].take();
    assert_eq!(status["authenticated"], true, "{status}");
    // A kubeconfig stays valid: the same authority, the same token.
    let server = client.sandbox.serve_https(addr).await.unwrap();
    assert_eq!(client.sandbox.kubeconfig(&server), kubeconfig);
    gadget(&client, "b").await;
    // An old watch is told to list again.
    let version = map["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = client
        .watch(&format!("{MAPS}?watch=1&resourceVersion={version}"))
        .await;
    assert_eq!(watch.event().await.1["code"], 410);
}

/// Waits in real time: the disk does not wait for a paused clock.
async fn until(client: &Client, path: &str, is_so: impl Fn(&Answer) -> bool) {
    let waiting = async {
        while !is_so(&client.get(path).await) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    in_time.expect("the state is reached");
}

fn has_ready(replicas: i64) -> impl Fn(&Answer) -> bool {
    move |answer| answer.json["status"]["readyReplicas"] == replicas
}

#[tokio::test]
async fn workloads_go_on_after_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let client = start(&folder, |builder| builder.simulator(true)).await;
    let labels = json!({"app": "web"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web"}]},
        }},
    });
    client.post(DEPLOYMENTS, &deployment).await.object();
    until(&client, WEB, has_ready(2)).await;
    let pods = "/api/v1/namespaces/default/pods";
    let names = |list: Value| -> Vec<Value> {
        let items = list["items"].as_array().unwrap().iter();
        items.map(|pod| pod["metadata"]["uid"].clone()).collect()
    };
    let before = names(client.get(pods).await.json);
    stop(client).await;

    let client = start(&folder, |builder| builder.simulator(true)).await;
    let more = json!({"spec": {"replicas": 3}});
    client
        .patch(crate::client::MERGE, WEB, &more)
        .await
        .object();
    until(&client, WEB, has_ready(3)).await;
    let after = names(client.get(pods).await.json);
    assert_eq!(after.len(), 3);
    assert!(
        before.iter().all(|pod| after.contains(pod)),
        "{before:?} {after:?}"
    );
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let first = start(&folder, |builder| builder).await;
    let path = folder.path().display().to_string();
    let refused = |builder: Builder| match builder.build() {
        Err(error @ BuildError::Data { .. }) => error.to_string(),
        _ => panic!("the folder is not refused"),
    };
    let used = refused(Sandbox::builder().data(folder.path()));
    assert_eq!(
        used,
        format!("cannot use the data folder {path}: another sandbox uses it")
    );
    let seeded = refused(Sandbox::builder().data(folder.path()).seed(1));
    assert!(seeded.ends_with("a seed or an epoch would repeat UIDs and times: leave them out"));
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let in_a_file = refused(Sandbox::builder().data(&file));
    assert!(in_a_file.contains("/file: "), "{in_a_file}");
    drop(first);
}
