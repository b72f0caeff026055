use serde_json::{Value, json};

use crate::client::{APPLY, Client, DEFINITIONS, JSON, MERGE, STRATEGIC};

pub(crate) const SITES: &str = "/apis/demo.dev/v1/namespaces/default/sites";

fn definition(spec: Value) -> Value {
    json!({
        "metadata": {"name": "sites.demo.dev"},
        "spec": {
            "group": "demo.dev",
            "names": {"plural": "sites", "kind": "Site"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": spec,
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    })
}

fn spec() -> Value {
    json!({
        "type": "object",
        "required": ["host"],
        "properties": {
            "host": {
                "type": "string",
                "maxLength": 9,
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "host is fixed"}],
            },
            "replicas": {"type": "integer", "default": 1, "maximum": 9},
        },
    })
}

pub(crate) fn site(spec: Value) -> Value {
    json!({"apiVersion": "demo.dev/v1", "kind": "Site", "metadata": {"name": "a"}, "spec": spec})
}

/// A client of a sandbox that serves Sites.
pub(crate) async fn client() -> Client {
    let client = Client::new().await;
    assert_eq!(client.get(SITES).await.code, 404);
    client.post(DEFINITIONS, &definition(spec())).await.object();
    client.until(SITES, |answer| answer.code == 200).await;
    client
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_served_until_it_is_deleted_with_its_objects() {
    let client = client().await;
    let path = format!("{DEFINITIONS}/sites.demo.dev");
    let served = client.get(&path).await.object();
    let conditions = served["status"]["conditions"].as_array().unwrap().iter();
    let met: Vec<&Value> = conditions
        .filter(|condition| condition["status"] == "True")
        .map(|condition| &condition["type"])
        .collect();
    assert_eq!(met, ["NamesAccepted", "Established"]);
    let group = client.get("/apis/demo.dev/v1").await.object();
    let names: Vec<&Value> = group["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| &resource["name"])
        .collect();
    assert_eq!(names, ["sites", "sites/status", "sites/scale"]);
    client
        .post(SITES, &site(json!({"host": "a"})))
        .await
        .object();
    let mut watch = client.watch(&format!("{SITES}?watch=1")).await;
    assert_eq!(watch.next_event_name().await.0, "ADDED");
    client.delete(&path).await.object();
    client.until(&path, |answer| answer.code == 404).await;
    assert_eq!(watch.next_event_name().await.0, "DELETED");
    assert_eq!(watch.next().await.unwrap(), None);
    let gone = client.until(SITES, |answer| answer.code == 404).await;
    assert_eq!(gone.text, "404 page not found\n");
}

#[tokio::test(start_paused = true)]
async fn a_custom_resource_must_fit_its_schema() {
    let client = client().await;
    let path = format!("{SITES}/a");
    let made = client
        .post(SITES, &site(json!({"host": "a", "nope": 1})))
        .await;
    assert_eq!(
        made.warnings(),
        ["299 - \"unknown field \\\"spec.nope\\\"\""]
    );
    assert_eq!(made.object()["spec"], json!({"host": "a", "replicas": 1}));
    for (spec, message) in [
        (
            json!({"host": "b"}),
            "spec.host: Invalid value: \"b\": host is fixed",
        ),
        (
            json!({"replicas": 10}),
            "spec.replicas: Invalid value: 10: spec.replicas in body should be less than or equal to 9",
        ),
        (
            json!({"replicas": "x"}),
            "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
        ),
        (json!({"host": null}), "spec.host: Required value"),
    ] {
        let refused = client.patch(MERGE, &path, &json!({"spec": spec})).await;
        // The error also mentions the rules that such an object keeps from being checked.
        let (code, reason, said) = refused.failure();
        assert_eq!((code, reason), (422, "Invalid"), "{spec}");
        assert!(said.contains(message), "{spec}: {said}");
    }
    let strict = client
        .post(
            &format!("{SITES}?fieldValidation=Strict"),
            &site(json!({"host": "a", "nope": 1})),
        )
        .await;
    assert_eq!(
        strict.failure(),
        (
            400,
            "BadRequest",
            "Site in version \"v1\" cannot be handled as a Site: strict decoding error: unknown field \"spec.nope\""
        )
    );
    let strategic = client
        .patch(STRATEGIC, &path, &json!({"spec": {"replicas": 2}}))
        .await;
    assert_eq!(
        strategic.failure(),
        (
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, \
             application/merge-patch+json, application/apply-patch+yaml"
        )
    );
    let mut unversioned = site(json!({"host": "a"}));
    unversioned["metadata"]["resourceVersion"].take();
    assert_eq!(
        client.put(&path, &unversioned).await.failure(),
        (
            422,
            "Invalid",
            "sites.demo.dev \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        )
    );
    let scaled = client
        .patch(
            MERGE,
            &format!("{path}/scale"),
            &json!({"spec": {"replicas": 4}}),
        )
        .await
        .object();
    assert_eq!(
        (&scaled["kind"], &scaled["spec"]["replicas"]),
        (&json!("Scale"), &json!(4))
    );
    let applied = client
        .patch(
            APPLY,
            &format!("{path}?fieldManager=x"),
            &site(json!({"replicas": 4, "host": "a"})),
        )
        .await;
    assert_eq!(applied.code, 200);
}

#[tokio::test(start_paused = true)]
async fn a_stored_object_gets_a_later_default_when_it_is_read() {
    let client = client().await;
    client
        .post(SITES, &site(json!({"host": "a"})))
        .await
        .object();
    let before = client.get(SITES).await.object();
    let color = json!({"type": "string", "default": "blue"});
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color";
    let patch = json!([{"op": "add", "path": place, "value": color}]);
    client
        .patch(JSON, &format!("{DEFINITIONS}/sites.demo.dev"), &patch)
        .await
        .object();
    let path = format!("{SITES}/a");
    let read = client
        .until(&path, |answer| answer.json["spec"]["color"] == "blue")
        .await
        .object();
    let list = client.get(SITES).await.object();
    assert_eq!(list["items"][0]["spec"]["color"], "blue");
    assert_eq!(
        read["metadata"]["resourceVersion"],
        before["items"][0]["metadata"]["resourceVersion"]
    );
    let mut watch = client.watch(&format!("{SITES}?watch=1")).await;
    assert_eq!(watch.event().await.1["spec"]["color"], "blue");
}

#[tokio::test(start_paused = true)]
async fn openapi_offers_no_strategic_merge_of_custom_resources() {
    let client = client().await;
    let third = client.get("/openapi/v3/apis/demo.dev/v1").await.object();
    let second = client.get("/openapi/v2").await.object();
    let path = "/apis/demo.dev/v1/namespaces/{namespace}/sites/{name}";
    let types = [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ];
    let content = third["paths"][path]["patch"]["requestBody"]["content"]
        .as_object()
        .unwrap();
    assert_eq!(content.keys().collect::<Vec<_>>(), types);
    assert_eq!(second["paths"][path]["patch"]["consumes"], json!(types));
}
