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
