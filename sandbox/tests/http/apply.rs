use serde_json::{Value, json};

use crate::client::{APPLY, Client, MAPS, request, version};

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

#[tokio::test(start_paused = true)]
async fn apply_creates_changes_and_removes_only_its_own_fields() {
    let client = Client::new().await;
    let path = format!("{MAPS}/a?fieldManager=one");
    let made = client
        .patch(APPLY, &path, &map(json!({"a": "1", "b": "1"})))
        .await;
    assert_eq!(made.code, 201);
    let made = made.object();
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    let same = client
        .patch(APPLY, &path, &map(json!({"a": "1", "b": "1"})))
        .await;
    assert_eq!((same.code, version(&same.json)), (200, version(&made)));
    // A field that is no longer applied and has no other owner is removed.
    let less = client
        .patch(APPLY, &path, &map(json!({"a": "2"})))
        .await
        .object();
    assert_eq!(less["data"], json!({"a": "2"}));
    let fields = &less["metadata"]["managedFields"][0];
    assert_eq!(
        (
            &fields["manager"],
            &fields["operation"],
            &fields["fieldsV1"]
        ),
        (
            &json!("one"),
            &json!("Apply"),
            &json!({"f:data": {"f:a": {}}})
        )
    );
    let yaml = "apiVersion: v1\nkind: ConfigMap\ndata: {a: '3'}\n";
    let applied = client
        .send(request("PATCH", &path, APPLY, yaml))
        .await
        .object();
    assert_eq!(applied["data"], json!({"a": "3"}));
}

#[tokio::test(start_paused = true)]
async fn apply_conflicts_until_it_is_forced() {
    let client = Client::new().await;
    let path = |manager: &str| format!("{MAPS}/a?fieldManager={manager}");
    client
        .patch(APPLY, &path("one"), &map(json!({"a": "1", "b": "1"})))
        .await
        .object();
    let theirs = map(json!({"a": "2", "b": "1"}));
    let conflict = client.patch(APPLY, &path("two"), &theirs).await;
    assert_eq!(
        conflict.failure(),
        (
            409,
            "Conflict",
            "Apply failed with 1 conflict: conflict with \"one\": .data.a"
        )
    );
    assert_eq!(
        conflict.json["details"]["causes"],
        json!([{"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.a"}])
    );
    let forced = client
        .patch(APPLY, &format!("{}&force=true", path("two")), &theirs)
        .await
        .object();
    assert_eq!(forced["data"], json!({"a": "2", "b": "1"}));
    // Now the first manager conflicts; both own equal values.
    let back = client
        .patch(APPLY, &path("one"), &map(json!({"a": "1", "b": "1"})))
        .await;
    assert_eq!(back.code, 409);
    let both = client
        .patch(APPLY, &path("one"), &map(json!({"b": "1"})))
        .await
        .object();
    assert_eq!(both["data"], json!({"a": "2", "b": "1"}));
    let force = client
        .patch(
            crate::client::MERGE,
            &format!("{MAPS}/a?force=true"),
            &json!({}),
        )
        .await;
    assert_eq!(
        force.failure(),
        (
            422,
            "Invalid",
            "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch"
        )
    );
}
