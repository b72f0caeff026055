//! How the server reads bodies, and what it does with their content.

use serde_json::json;

use crate::client::{Client, DEPLOYMENTS, MAPS, request};

#[tokio::test(start_paused = true)]
async fn an_undecodable_body_is_refused_with_the_texts_of_the_server() {
    let client = Client::new().await;
    let unrecognized = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";
    for (body, message) in [
        ("", format!("{unrecognized}unexpected end of JSON input (<empty>)")),
        ("{\"a\":", format!("{unrecognized}unexpected end of JSON input ({{\"a\":)")),
        (
            "{\"kind\":5}",
            format!("{unrecognized}json: cannot unmarshal number into Go struct field .kind of type string ({{\"kind\":5}})"),
        ),
        (
            r#"{"metadata":{"name":5}}"#,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field \
             ObjectMeta.metadata.name of type string"
                .to_owned(),
        ),
        (
            r#"{"apiVersion":"x.y/v1"}"#,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"x.y/v1\" \
             in scheme \"pkg/runtime/scheme.go:111\""
                .to_owned(),
        ),
    ] {
        let answer = client
            .send(request("POST", MAPS, "application/json", body))
            .await;
        assert_eq!(answer.failure(), (400, "BadRequest", &*message), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_field_is_warned_about_or_refused() {
    let client = Client::new().await;
    let body = r#"{"metadata":{"name":"a"},"data":{"a":"1","a":"2"}}"#;
    let send = async |query: &str| {
        let path = format!("{MAPS}?dryRun=All{query}");
        client
            .send(request("POST", &path, "application/json", body))
            .await
    };
    let warned = send("").await;
    assert_eq!(warned.json["data"], json!({"a": "2"}));
    assert_eq!(
        warned.warnings(),
        ["299 - \"duplicate field \\\"data.a\\\"\""]
    );
    let strict = send("&fieldValidation=Strict").await;
    assert_eq!(strict.code, 400);
    assert!(
        strict
            .text
            .contains("strict decoding error: duplicate field")
    );
}

#[tokio::test(start_paused = true)]
async fn failures_carry_warnings_too() {
    let client = Client::new().await;
    let map = json!({"metadata": {"name": "a"}, "nope": 1});
    client.post(MAPS, &map).await;
    let again = client.post(MAPS, &map).await;
    assert_eq!(again.code, 409);
    assert_eq!(again.warnings(), ["299 - \"unknown field \\\"nope\\\"\""]);
}

#[tokio::test(start_paused = true)]
async fn fields_that_the_server_sets_have_no_owner() {
    let client = Client::new().await;
    let service = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}});
    let services = "/api/v1/namespaces/default/services";
    let made = client.post(services, &service).await.object();
    assert!(made["spec"]["clusterIP"].is_string());
    let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
    assert!(owned["f:ports"].is_object() && owned["f:clusterIP"].is_null());
    let changed = client
        .put(&format!("{services}/a"), &service)
        .await
        .object();
    assert_eq!(made["spec"], changed["spec"]);
}

#[tokio::test(start_paused = true)]
async fn an_inconsistent_status_is_refused() {
    let client = Client::new().await;
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let deployment = json!({"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    client.post(DEPLOYMENTS, &deployment).await.object();
    let status = json!({"status": {"replicas": 1, "readyReplicas": 5}});
    let answer = client
        .patch(
            crate::client::MERGE,
            &format!("{DEPLOYMENTS}/a/status"),
            &status,
        )
        .await;
    assert_eq!(
        answer.failure().2,
        "Deployment.apps \"a\" is invalid: status.readyReplicas: Invalid value: 5: cannot be greater than status.replicas"
    );
}
