//! How the server reads bodies, and what it does with their content.

use pilothouse_sandbox::Sandbox;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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

#[tokio::test(start_paused = true)]
async fn options_of_wrong_types_delete_nothing() {
    let client = Client::new().await;
    client.map("a", "web").await;
    let path = format!("{MAPS}/a");
    let mistyped = |text: &str| format!("json: cannot unmarshal {text}");
    for (options, message) in [
        (
            json!({"dryRun": "All"}),
            mistyped("string into Go struct field DeleteOptions.dryRun of type []string"),
        ),
        (
            json!({"preconditions": {"uid": 5}}),
            mistyped(
                "number into Go struct field Preconditions.preconditions.uid of type types.UID",
            ),
        ),
        (
            json!({"gracePeriodSeconds": "0"}),
            mistyped("string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"),
        ),
    ] {
        for path in [&path, MAPS] {
            let refused = client.delete_with(path, &options).await;
            assert_eq!(
                refused.failure(),
                (400, "BadRequest", &*message),
                "{options}"
            );
        }
    }
    for options in [json!([]), json!("x"), json!(5)] {
        let refused = client.delete_with(&path, &options).await;
        let text = refused.failure().2.to_owned();
        assert!(
            text.starts_with("couldn't get version/kind; json parse error: json: cannot unmarshal"),
            "{text}"
        );
    }
    assert_eq!(client.get(&path).await.code, 200);
    client.delete_with(&path, &json!(null)).await.object();
    assert_eq!(client.get(&path).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn bodies_of_subresources_have_the_types_of_their_kinds() {
    let client = Client::new().await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod =
        json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    client.post(pods, &pod).await.object();
    let account = "/api/v1/namespaces/default/serviceaccounts";
    client
        .post(account, &json!({"metadata": {"name": "a"}}))
        .await
        .object();
    let target = json!({"kind": "Node", "name": "n"});
    for (path, body, message) in [
        (
            format!("{pods}/a/eviction"),
            json!({"metadata": {"name": "a"}, "deleteOptions": {"dryRun": "All"}}),
            "Eviction in version \"v1\" cannot be handled as a Eviction: json: cannot unmarshal string into Go struct field \
             DeleteOptions.deleteOptions.dryRun of type []string",
        ),
        (
            format!("{pods}/a/binding"),
            json!({"metadata": {"name": "a", "labels": {"a": 1}}, "target": target}),
            "Binding in version \"v1\" cannot be handled as a Binding: json: cannot unmarshal number into Go struct field \
             ObjectMeta.metadata.labels of type string",
        ),
        (
            "/api/v1/namespaces/default/bindings".to_owned(),
            json!({"metadata": {"name": "a", "annotations": {"a": true}}, "target": target}),
            "Binding in version \"v1\" cannot be handled as a Binding: json: cannot unmarshal bool into Go struct field \
             ObjectMeta.metadata.annotations of type string",
        ),
        (
            format!("{account}/a/token"),
            json!({"spec": {"audiences": "x"}}),
            "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: json: cannot unmarshal string into Go struct field \
             TokenRequestSpec.spec.audiences of type []string",
        ),
    ] {
        let refused = client.post(&path, &body).await;
        assert_eq!(refused.failure(), (400, "BadRequest", message), "{path}");
        let refused = client.post(&path, &json!([])).await;
        assert_eq!(refused.code, 400, "{path}");
    }
    assert_eq!(client.get(&format!("{pods}/a")).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn a_review_that_is_no_object_is_refused() {
    let client = Client::new().await;
    for path in [
        "/apis/authentication.k8s.io/v1/tokenreviews",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
    ] {
        for body in [
            json!([]),
            json!("x"),
            json!({"metadata": "x", "spec": {"user": "ann", "resourceAttributes": {"namespace": "default"}}}),
        ] {
            let refused = client.post(path, &body).await;
            assert_eq!(refused.failure().1, "BadRequest", "{path} {body}");
        }
    }
}

/// Sends a request on an HTTP/1.1 connection and its body only after the answer, then another request. Returns all that the server sends.
async fn a_late_body(length: usize) -> String {
    let sandbox = Sandbox::builder().build().unwrap();
    let mut pipe = sandbox.connect();
    let head = format!(
        "POST /apis/example.com/v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    );
    pipe.write_all(head.as_bytes()).await.unwrap();
    let mut answers = vec![0; 4096];
    let read = pipe.read(&mut answers).await.unwrap();
    answers.truncate(read);
    let first = String::from_utf8_lossy(&answers).into_owned();
    assert!(first.starts_with("HTTP/1.1 404 "), "{first}");
    let mut rest = vec![b' '; length];
    rest.extend(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    // The server may close the connection before all is sent.
    let _ = pipe.write_all(&rest).await;
    let _ = pipe.read_to_end(&mut answers).await;
    String::from_utf8(answers).unwrap()
}

#[tokio::test]
async fn a_body_that_comes_after_the_answer_does_not_end_the_connection() {
    for length in [2, 200_000] {
        let answers = a_late_body(length).await;
        assert_eq!(answers.matches("HTTP/1.1 200 ").count(), 1, "{answers}");
    }
    // A server of Go reads no more than 256 KiB that nobody wants.
    let answers = a_late_body(10_000_000).await;
    assert_eq!(answers.matches("HTTP/1.1 200 ").count(), 0, "{answers}");
    let head = answers.to_lowercase();
    assert_eq!(head.matches("connection: close").count(), 1, "{answers}");
}
