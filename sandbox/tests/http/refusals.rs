use serde_json::json;

use crate::client::{Client, MAPS, request};

#[tokio::test(start_paused = true)]
async fn invalid_requests_are_refused_with_the_texts_of_the_server() {
    let client = Client::new().await;
    client.map("a", "web").await;
    let named = |name: &str| json!({"metadata": {"name": name}}).to_string();
    let json = "application/json";
    let method = "the server does not allow this method on the requested resource";
    let unknown =
        "the body of the request was in an unknown format - accepted media types include: ";
    for (method_and_path, content_type, body, expected) in [
        (
            format!("GET {MAPS}/none"),
            "",
            String::new(),
            (404, "NotFound", "configmaps \"none\" not found".to_owned()),
        ),
        (format!("POST {MAPS}/a"), json, named("a"), (405, "MethodNotAllowed", method.to_owned())),
        (format!("PUT {MAPS}"), json, named("a"), (405, "MethodNotAllowed", method.to_owned())),
        ("POST /api/v1/configmaps".into(), json, named("b"), (405, "MethodNotAllowed", method.to_owned())),
        (
            format!("POST {MAPS}"),
            json,
            named("a"),
            (409, "AlreadyExists", "configmaps \"a\" already exists".to_owned()),
        ),
        (
            "POST /api/v1/namespaces/nowhere/configmaps".into(),
            json,
            named("a"),
            (404, "NotFound", "namespaces \"nowhere\" not found".to_owned()),
        ),
        (
            format!("PUT {MAPS}/a"),
            json,
            named("b"),
            (
                400,
                "BadRequest",
                "the name of the object (b) does not match the name on the URL (a)".to_owned(),
            ),
        ),
        (
            format!("POST {MAPS}"),
            json,
            json!({"metadata": {"name": "b", "namespace": "kube-system"}}).to_string(),
            (
                400,
                "BadRequest",
                "the namespace of the provided object does not match the namespace sent on the request".to_owned(),
            ),
        ),
        (
            format!("POST {MAPS}"),
            json,
            json!({"kind": "Secret", "metadata": {"name": "b"}}).to_string(),
            (
                400,
                "BadRequest",
                "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion".to_owned(),
            ),
        ),
        (
            format!("POST {MAPS}?dryRun=Some"),
            json,
            named("b"),
            (
                422,
                "Invalid",
                "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"".to_owned(),
            ),
        ),
        (
            format!("POST {MAPS}"),
            json,
            named("A_b"),
            (
                422,
                "Invalid",
                "ConfigMap \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain must consist of lower \
                 case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
                 used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                    .to_owned(),
            ),
        ),
        (
            format!("POST {MAPS}"),
            "text/plain",
            named("b"),
            (
                415,
                "UnsupportedMediaType",
                format!("{unknown}application/json, application/yaml, application/vnd.kubernetes.protobuf"),
            ),
        ),
        (
            format!("PATCH {MAPS}/a"),
            json,
            named("a"),
            (
                415,
                "UnsupportedMediaType",
                "415: Unsupported Media Type".to_owned(),
            ),
        ),
        (
            format!("PATCH {MAPS}/a"),
            "application/json-patch+json",
            json!([{"op": "remove", "path": "/data/none"}]).to_string(),
            (
                422,
                "Invalid",
                "the server rejected our request due to an error in our request".to_owned(),
            ),
        ),
        (
            format!("PATCH {MAPS}/a"),
            "application/apply-patch+yaml",
            named("a"),
            (
                422,
                "Invalid",
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch".to_owned(),
            ),
        ),
        (
            "GET /api/v1/nodes/a/proxy".into(),
            "",
            String::new(),
            (501, "NotImplemented", "the sandbox does not implement the subresource nodes/proxy".to_owned()),
        ),
        (
            format!("POST {MAPS}"),
            json,
            "x".repeat(3 * 1024 * 1024 + 1),
            (
                413,
                "RequestEntityTooLarge",
                "Request entity too large: limit is 3145728".to_owned(),
            ),
        ),
    ] {
        let (method, path) = method_and_path.split_once(' ').unwrap();
        let answer = client.send(request(method, path, content_type, body)).await;
        let (code, reason, message) = expected;
        assert_eq!(answer.failure(), (code, reason, &*message), "{method_and_path}");
        assert_eq!(answer.json["kind"], "Status", "{method_and_path}");
        assert_eq!(answer.json["code"], code, "{method_and_path}");
    }
    assert_eq!(
        client.get(MAPS).await.json["items"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_path_is_404_as_plain_text_and_as_status_in_built_in_groups() {
    let client = Client::new().await;
    for path in [
        "/apis/apps/v2/deployments",
        "/api/v1/things",
        "/api/v1/configmaps/a",
    ] {
        let expected = "the server could not find the requested resource";
        let answer = client.get(path).await;
        assert_eq!(answer.failure(), (404, "NotFound", expected), "{path}");
    }
    for path in ["/nothing", "/apis/nowhere.dev/v1/things"] {
        let answer = client.get(path).await;
        assert_eq!(
            (answer.code, &*answer.text),
            (404, "404 page not found\n"),
            "{path}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_accepts_no_possible_form_is_not_acceptable() {
    let client = Client::new().await;
    const MEDIA: &str = "only the following media types are accepted";
    const PATH: &str = "Available representations: application/json";
    let table = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io";
    for (path, accept, refused) in [
        (MAPS, table, Some(MEDIA)),
        (MAPS, "application/json;q=0", None),
        (MAPS, "application/json;as=Other", Some(MEDIA)),
        (MAPS, "nonsense", Some(PATH)),
        (MAPS, "nonsense, */*", None),
        ("/version", "application/yaml", Some(PATH)),
        ("/version", "text/html, application/json;q=0.1", None),
        ("/apis", "application/yaml", None),
        ("/apis/apps/v1", "nonsense", Some(PATH)),
    ] {
        let mut request = request("GET", path, "", "");
        request
            .headers_mut()
            .insert("accept", accept.parse().unwrap());
        let answer = client.send(request).await;
        let Some(message) = refused else {
            assert_eq!(answer.code, 200, "{path} {accept}");
            continue;
        };
        assert_eq!(answer.code, 406, "{path} {accept}");
        assert!(answer.text.contains(message), "{path}: {}", answer.text);
    }
}
