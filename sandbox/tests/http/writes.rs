use serde_json::{Value, json};

use crate::client::{Client, DEPLOYMENTS, MAPS, MERGE, STRATEGIC, request, version};

#[tokio::test(start_paused = true)]
async fn field_validation_ignores_warns_about_or_refuses_unknown_fields() {
    let client = Client::new().await;
    let map = json!({"metadata": {"name": "a"}, "data": {"a": "b"}, "nope": 1});
    let warned = client.post(&format!("{MAPS}?dryRun=All"), &map).await;
    assert_eq!(warned.code, 201);
    assert_eq!(warned.warnings(), ["299 - \"unknown field \\\"nope\\\"\""]);
    let ignored = client
        .post(&format!("{MAPS}?dryRun=All&fieldValidation=Ignore"), &map)
        .await;
    assert_eq!((ignored.code, ignored.warnings().len()), (201, 0));
    let strict = client
        .post(&format!("{MAPS}?fieldValidation=Strict"), &map)
        .await;
    assert_eq!(
        strict.failure(),
        (
            400,
            "BadRequest",
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"nope\""
        )
    );
    assert_eq!(client.get(&format!("{MAPS}/a")).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_returns_the_result_and_changes_nothing() {
    let client = Client::new().await;
    let made = client.map("a", "web").await;
    let path = format!("{MAPS}/a?dryRun=All");
    let new = json!({"metadata": {"name": "b"}});
    let data = json!({"data": {"a": "changed"}});
    let created = client.post(&format!("{MAPS}?dryRun=All"), &new).await;
    assert_eq!(
        created.object().pointer("/metadata/name"),
        Some(&json!("b"))
    );
    let patched = client.patch(MERGE, &path, &data).await.object();
    assert_eq!(patched["data"], data["data"]);
    client.delete(&path).await.object();
    let list = client.get(MAPS).await.object();
    assert_eq!(version(&list), version(&made));
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
}

/// The resource version of a new object is refused by the storage, so first comes what the object itself has wrong, and a dry run
/// accepts the version.
#[tokio::test(start_paused = true)]
async fn a_resource_version_of_a_new_object_is_refused_last() {
    let client = Client::new().await;
    let new = |labels: Value| json!({"metadata": {"name": "a", "resourceVersion": "1", "labels": labels}});
    let (valid, invalid) = (new(json!({"a": "b"})), new(json!({"a": "-"})));
    let dry = format!("{MAPS}?dryRun=All");
    let answers = [
        client.post(MAPS, &invalid).await.code,
        client.post(MAPS, &valid).await.code,
        client.post(&dry, &invalid).await.code,
        client.post(&dry, &valid).await.code,
    ];
    assert_eq!(answers, [422, 500, 422, 201]);
}

#[tokio::test(start_paused = true)]
async fn a_write_of_an_older_state_conflicts() {
    let client = Client::new().await;
    let old = client.map("a", "web").await;
    let path = format!("{MAPS}/a");
    client
        .patch(MERGE, &path, &json!({"data": {"a": "c"}}))
        .await
        .object();
    let conflict = (
        409,
        "Conflict",
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest \
         version and try again",
    );
    assert_eq!(client.put(&path, &old).await.failure(), conflict);
    let patch = json!({"metadata": {"resourceVersion": version(&old)}, "data": {"a": "d"}});
    assert_eq!(client.patch(MERGE, &path, &patch).await.failure(), conflict);
    let mut other = old.clone();
    other["metadata"]["uid"] = "x".into();
    other["metadata"]["resourceVersion"].take();
    assert_eq!(client.put(&path, &other).await.failure().0, 409);
    // A replace without a version applies to any state.
    let mut unversioned = old.clone();
    unversioned["metadata"]["resourceVersion"].take();
    let replaced = client.put(&path, &unversioned).await.object();
    assert_eq!(replaced["data"], old["data"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_changes_nothing_keeps_the_resource_version() {
    let client = Client::new().await;
    let made = client.map("a", "web").await;
    let path = format!("{MAPS}/a");
    let same = client.put(&path, &made).await.object();
    assert_eq!(version(&same), version(&made));
    let same = client
        .patch(MERGE, &path, &json!({"data": {"a": "b"}}))
        .await;
    assert_eq!(version(&same.object()), version(&made));
    assert_eq!(version(&client.get(MAPS).await.json), version(&made));
}

#[tokio::test(start_paused = true)]
async fn names_are_generated() {
    let client = Client::new().await;
    let map = json!({"metadata": {"generateName": "web-"}});
    let one = client.post(MAPS, &map).await.object();
    let other = client.post(MAPS, &map).await.object();
    let name = |map: &Value| map["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!((name(&one).len(), &name(&one)[..4]), (9, "web-"));
    assert_ne!(name(&one), name(&other));
    let nameless = client.post(MAPS, &json!({"metadata": {}})).await;
    assert_eq!(
        nameless.failure(),
        (
            422,
            "Invalid",
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_can_be_sent_as_yaml() {
    let client = Client::new().await;
    let text = "metadata:\n  name: a\ndata:\n  on: 'yes'\n";
    let made = client
        .send(request("POST", MAPS, "application/yaml", text))
        .await
        .object();
    assert_eq!(made["data"], json!({"on": "yes"}));
}

fn deployment() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}, {"name": "log", "image": "log:1"}]},
            },
        },
        "status": {"replicas": 9},
    })
}

#[tokio::test(start_paused = true)]
async fn status_scale_and_the_main_resource_change_separately() {
    let client = Client::new().await;
    let path = format!("{DEPLOYMENTS}/web");
    let made = client.post(DEPLOYMENTS, &deployment()).await.object();
    assert_eq!(
        (&made["status"], &made["metadata"]["generation"]),
        (&json!({}), &json!(1))
    );
    let both = json!({"spec": {"replicas": 3}, "status": {"replicas": 3}});
    let status = client
        .patch(MERGE, &format!("{path}/status"), &both)
        .await
        .object();
    assert_eq!(
        (&status["spec"]["replicas"], &status["status"]["replicas"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(status["metadata"]["generation"], 1);
    let both = json!({"spec": {"replicas": 4}, "status": {"replicas": 4}});
    let main = client.patch(MERGE, &path, &both).await.object();
    assert_eq!(
        (&main["spec"]["replicas"], &main["status"]["replicas"]),
        (&json!(4), &json!(3))
    );
    assert_eq!(main["metadata"]["generation"], 2);
    let scale = client.get(&format!("{path}/scale")).await.object();
    assert_eq!(
        (&scale["kind"], &scale["spec"], &scale["status"]["selector"]),
        (&json!("Scale"), &json!({"replicas": 4}), &json!("app=web"))
    );
    let scaled = client
        .put(
            &format!("{path}/scale"),
            &json!({"metadata": {"name": "web"}, "spec": {"replicas": 0}}),
        )
        .await
        .object();
    assert_eq!(scaled["spec"], json!({}));
    let main = client.get(&path).await.object();
    assert_eq!(
        (&main["spec"]["replicas"], &main["metadata"]["generation"]),
        (&json!(0), &json!(3))
    );
    let stale = client.put(&format!("{path}/scale"), &scale).await;
    assert_eq!(stale.failure().0, 409);
    let negative = client
        .patch(
            MERGE,
            &format!("{path}/scale"),
            &json!({"spec": {"replicas": -1}}),
        )
        .await;
    assert_eq!(
        negative.failure(),
        (
            422,
            "Invalid",
            "Scale.autoscaling \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_strategic_merge_patch_merges_lists_by_key() {
    let client = Client::new().await;
    client.post(DEPLOYMENTS, &deployment()).await.object();
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "log", "image": "log:2"}]}}}});
    let patched = client
        .patch(STRATEGIC, &format!("{DEPLOYMENTS}/web"), &patch)
        .await
        .object();
    let containers = patched["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap();
    let images: Vec<&Value> = containers
        .iter()
        .map(|container| &container["image"])
        .collect();
    assert_eq!(images.len(), 2);
    assert!(
        images.contains(&&json!("web:1")) && images.contains(&&json!("log:2")),
        "{images:?}"
    );
}
