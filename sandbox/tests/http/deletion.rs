use serde_json::{Value, json};

use crate::client::{Client, MAPS, MERGE, NAMESPACES, event, version};

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_they_are_removed() {
    let client = Client::new().await;
    let path = format!("{MAPS}/a");
    let held = json!({"metadata": {"name": "a", "finalizers": ["demo.dev/one"]}});
    client.post(MAPS, &held).await.object();
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    assert_eq!(watch.next_event_name().await, event("ADDED", "a"));
    let going = client.delete(&path).await.object();
    assert_eq!(going["kind"], "ConfigMap");
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(watch.next_event_name().await, event("MODIFIED", "a"));
    let again = client.delete(&path).await.object();
    assert_eq!(version(&again), version(&going));
    let more = json!({"metadata": {"finalizers": ["demo.dev/one", "demo.dev/two"]}});
    let refused = client.patch(MERGE, &path, &more).await;
    assert_eq!(
        refused.failure(),
        (
            422,
            "Invalid",
            "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, \
             found new finalizers []string{\"demo.dev/two\"}"
        )
    );
    let released = client
        .patch(MERGE, &path, &json!({"metadata": {"finalizers": null}}))
        .await;
    assert_eq!(released.code, 200);
    let (kind, last) = watch.event().await;
    assert_eq!(kind, "DELETED");
    assert!(version(&last).parse::<u64>().unwrap() > version(&going).parse().unwrap());
    assert_eq!(client.get(&path).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn preconditions_of_a_deletion_must_hold() {
    let client = Client::new().await;
    let made = client.map("a", "web").await;
    let path = format!("{MAPS}/a");
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let now = version(&made);
    for (preconditions, message) in [
        (
            json!({"uid": "x"}),
            format!(
                "the UID in the precondition (x) does not match the UID in record ({uid}). The object might have been deleted and then \
                 recreated"
            ),
        ),
        (
            json!({"resourceVersion": "1"}),
            format!(
                "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ({now}). The object might have \
                 been modified"
            ),
        ),
    ] {
        let refused = client
            .delete_with(&path, &json!({"preconditions": preconditions}))
            .await;
        let message = format!("Operation cannot be fulfilled on ConfigMap \"a\": {message}");
        assert_eq!(refused.failure(), (409, "Conflict", &*message));
    }
    let deleted = client
        .delete_with(
            &path,
            &json!({"preconditions": {"uid": uid, "resourceVersion": now}}),
        )
        .await;
    let deleted = deleted.object();
    assert_eq!(
        (&deleted["kind"], &deleted["status"], &deleted["details"]),
        (
            &json!("Status"),
            &json!("Success"),
            &json!({"name": "a", "kind": "configmaps", "uid": uid})
        )
    );
}

#[tokio::test(start_paused = true)]
async fn deleting_a_collection_deletes_only_selected_objects() {
    let client = Client::new().await;
    for (name, app) in [("a", "web"), ("b", "db"), ("c", "web")] {
        client.map(name, app).await;
    }
    let deleted = client
        .delete(&format!("{MAPS}?labelSelector=app%3Dweb"))
        .await
        .object();
    assert_eq!(deleted["items"].as_array().map(Vec::len), Some(2));
    let left = client.get(MAPS).await.object();
    assert_eq!(left["items"][0]["metadata"]["name"], "b");
    assert_eq!(left["items"].as_array().map(Vec::len), Some(1));
}

/// An owner and its child.
async fn family(client: &Client) -> (String, String) {
    let owner = client.map("owner", "web").await;
    let reference = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    });
    let child = json!({"metadata": {"name": "child", "ownerReferences": [reference]}});
    client.post(MAPS, &child).await.object();
    (format!("{MAPS}/owner"), format!("{MAPS}/child"))
}

#[tokio::test(start_paused = true)]
async fn dependents_are_deleted_after_their_owner_or_before_it_or_stay() {
    for policy in ["Background", "Foreground", "Orphan"] {
        let client = Client::new().await;
        let (owner, child) = family(&client).await;
        let mut watch = client
            .watch(&format!(
                "{MAPS}?watch=1&resourceVersion={}",
                version(&client.get(MAPS).await.json)
            ))
            .await;
        let answer = client
            .delete_with(&owner, &json!({"propagationPolicy": policy}))
            .await
            .object();
        match policy {
            "Background" => {
                assert_eq!(answer["status"], "Success");
                assert_eq!(watch.next_event_name().await, event("DELETED", "owner"));
                assert_eq!(watch.next_event_name().await, event("DELETED", "child"));
            }
            "Foreground" => {
                assert_eq!(
                    answer["metadata"]["finalizers"],
                    json!(["foregroundDeletion"])
                );
                assert_eq!(watch.next_event_name().await, event("MODIFIED", "owner"));
                let mut next_event_name = watch.next_event_name().await;
                // The child may be marked before it goes.
                while next_event_name.0 == "MODIFIED" {
                    next_event_name = watch.next_event_name().await;
                }
                assert_eq!(next_event_name, event("DELETED", "child"));
                assert_eq!(watch.next_event_name().await, event("DELETED", "owner"));
            }
            _ => {
                assert_eq!(answer["metadata"]["finalizers"], json!(["orphan"]));
                client.until(&owner, |answer| answer.code == 404).await;
                let left = client.get(&child).await.object();
                assert_eq!(left["metadata"].get("ownerReferences"), None);
                assert_eq!(left["metadata"].get("deletionTimestamp"), None);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_deletes_its_content() {
    let client = Client::new().await;
    let maps = format!("{NAMESPACES}/work/configmaps");
    client
        .post(NAMESPACES, &json!({"metadata": {"name": "work"}}))
        .await
        .object();
    let held = json!({"metadata": {"name": "held", "finalizers": ["demo.dev/x"]}});
    client.post(&maps, &held).await.object();
    client
        .post(&maps, &json!({"metadata": {"name": "free"}}))
        .await
        .object();
    let going = client.delete(&format!("{NAMESPACES}/work")).await.object();
    assert_eq!(
        (&going["kind"], &going["status"]["phase"]),
        (&json!("Namespace"), &json!("Terminating"))
    );
    client
        .until(&format!("{maps}/free"), |answer| answer.code == 404)
        .await;
    let refused = client
        .post(&maps, &json!({"metadata": {"name": "new"}}))
        .await;
    assert_eq!(
        refused.failure(),
        (
            403,
            "Forbidden",
            "configmaps \"new\" is forbidden: unable to create new content in namespace work because it is being terminated"
        )
    );
    assert_eq!(
        refused.json["details"]["causes"][0]["reason"],
        "NamespaceTerminating"
    );
    assert_eq!(client.get(&format!("{NAMESPACES}/work")).await.code, 200);
    let path = format!("{maps}/held");
    client
        .patch(MERGE, &path, &json!({"metadata": {"finalizers": null}}))
        .await
        .object();
    client
        .until(&format!("{NAMESPACES}/work"), |answer| answer.code == 404)
        .await;
    let kept = client.delete(&format!("{NAMESPACES}/default")).await;
    assert_eq!(
        kept.failure(),
        (
            403,
            "Forbidden",
            "namespaces \"default\" is forbidden: this namespace may not be deleted"
        )
    );
    assert_eq!(kept.json["details"]["name"], Value::from("default"));
}

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(node: &str) -> Value {
    let mut pod =
        json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    if !node.is_empty() {
        pod["spec"]["nodeName"] = json!(node);
    }
    pod
}

/// The grace period of an object, and how long after another object its deletion ends.
fn grace(object: &Value, since: &Value) -> (i64, i64) {
    let time = |object: &Value| -> jiff::Timestamp {
        let text = object["metadata"]["deletionTimestamp"].as_str();
        text.unwrap().parse().unwrap()
    };
    let seconds = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    (
        seconds.unwrap(),
        time(object).as_second() - time(since).as_second(),
    )
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_that_a_pod_is_deleted_before_it_is_gone() {
    let client = Client::new().await;
    let made = client.post(PODS, &pod("")).await.object();
    let mut watch = client
        .watch(&format!(
            "{PODS}?watch=1&resourceVersion={}",
            version(&made)
        ))
        .await;
    let path = format!("{PODS}/a");
    let dry = client
        .delete_with(&path, &json!({"dryRun": ["All"]}))
        .await
        .object();
    assert!(dry["metadata"]["deletionTimestamp"].is_string());
    let gone = client.delete(&path).await.object();
    let (kind, marked) = watch.event().await;
    assert_eq!(kind, "MODIFIED");
    assert_eq!(grace(&marked, &marked).0, 0);
    let generation = |object: &Value| object["metadata"]["generation"].as_i64().unwrap();
    assert_eq!(generation(&marked), generation(&made) + 1);
    let (kind, last) = watch.event().await;
    assert_eq!((&*kind, &last), ("DELETED", &gone));
    assert_eq!(grace(&last, &marked), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_grace_period_may_be_shortened_and_counts_from_its_beginning() {
    let client = Client::new().await;
    client.post(PODS, &pod("n")).await.object();
    let path = format!("{PODS}/a");
    let within = async |seconds: i64| {
        let options = json!({"gracePeriodSeconds": seconds});
        client.delete_with(&path, &options).await.object()
    };
    let first = within(40).await;
    assert_eq!(grace(&first, &first).0, 40);
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    // Neither a deletion without a grace period nor a longer one changes anything.
    let again = client.delete(&path).await.object();
    assert_eq!(version(&again), version(&first));
    assert_eq!(version(&within(60).await), version(&first));
    let orphan = client
        .delete_with(&path, &json!({"propagationPolicy": "Orphan"}))
        .await;
    assert_eq!(version(&orphan.object()), version(&first));
    let shorter = within(20).await;
    assert_eq!(grace(&shorter, &first), (20, -20));
    tokio::time::advance(std::time::Duration::from_secs(15)).await;
    // It is over, but the Pod still ends by itself.
    let over = within(5).await;
    assert_eq!(grace(&over, &first), (1, -15));
    let last = within(0).await;
    assert_eq!(grace(&last, &first), (0, -15));
    assert_eq!(client.get(&path).await.code, 404);
}
