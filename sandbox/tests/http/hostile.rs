use serde_json::{Value, json};

use crate::client::{
    APPLY, Client, DEFINITIONS, DEPLOYMENTS, JSON, MAPS, MERGE, NAMESPACES, STRATEGIC, request,
};

/// Whether the server answers, and answers this request without an internal error.
async fn refused(client: &Client, request: http::Request<http_body_util::Full<bytes::Bytes>>) {
    let what = format!("{} {}", request.method(), request.uri());
    let what = what.get(..200).unwrap_or(&what).to_owned();
    let answer = client.send(request).await;
    // A real server also answers 500 without a reason to a configuration that does not fit its schema.
    let own = answer.code >= 500 && answer.code != 501 && answer.json["reason"].is_string();
    assert!(!own, "{what}: {} {}", answer.code, answer.text);
}

fn nested(open: &str, close: &str, levels: usize) -> String {
    format!("{}1{}", open.repeat(levels), close.repeat(levels))
}

#[tokio::test(start_paused = true)]
async fn requests_with_any_body_get_a_response() {
    let client = Client::new().await;
    client.map("a", "web").await;
    let laughs: String = (1..20)
        .map(|n| {
            format!(
                "a{n}: &a{n} [*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m}]\n",
                m = n - 1
            )
        })
        .collect();
    let mut bodies: Vec<String> = [
        "", "null", "5", "\"x\"", "[]", "[[]]", "{}", "{", "\u{0}", "{\"metadata\": 5}", "{\"metadata\": {\"name\": 5}}",
        "{\"metadata\": {\"name\": \"b\", \"labels\": [1]}}", "{\"metadata\": {\"name\": \"b\", \"labels\": {\"a\": 5}}}",
        "{\"metadata\": {\"name\": \"b\", \"finalizers\": {\"a\": 5}}}", "{\"metadata\": {\"name\": \"b\", \"ownerReferences\": [5]}}",
        "{\"metadata\": {\"name\": \"b\", \"managedFields\": [{\"fieldsV1\": 5}]}}",
        "{\"metadata\": {\"name\": \"b\", \"creationTimestamp\": \"never\", \"deletionTimestamp\": 7}}",
        "{\"metadata\": {\"name\": \"b\"}, \"spec\": 5, \"status\": 5, \"data\": 5}",
        "{\"metadata\": {\"name\": \"b\"}, \"spec\": [5], \"status\": [5], \"data\": [5]}",
        "{\"metadata\": {\"name\": \"b\"}, \"spec\": {\"replicas\": 99999999999999999999}}",
        "{\"metadata\": {\"name\": \"b\"}, \"spec\": {\"template\": 5, \"selector\": 5, \"containers\": 5, \"versions\": 5, \"names\": 5}}",
        "{\"metadata\": {\"name\": \"b\"}, \"spec\": {\"versions\": [5, {\"schema\": 5}], \"names\": {\"plural\": 5}, \"ports\": [5]}}",
        "{\"spec\": null, \"metadata\": null, \"status\": {\"conditions\": [5]}}",
        "[{\"op\": \"replace\", \"path\": \"\", \"value\": 5}]", "[{\"op\": \"remove\", \"path\": \"/metadata\"}]",
        "[{\"op\": \"add\", \"path\": \"/metadata\", \"value\": []}]", "[{\"op\": \"move\", \"from\": \"/metadata\", \"path\": \"/metadata/x\"}]",
        "{\"$patch\": \"replace\"}", "{\"metadata\": {\"$patch\": \"delete\"}}", "{\"spec\": {\"$setElementOrder/containers\": 5}}",
        "{\"propagationPolicy\": 5, \"preconditions\": 5, \"gracePeriodSeconds\": -99999999999}",
    ]
    .map(String::from)
    .into();
    bodies.push(nested("[", "]", 20_000));
    bodies.push(nested("{\"a\":", "}", 20_000));
    for levels in [60, 120, 9_000] {
        bodies.push(nested("{\"a\":", "}", levels));
        bodies.push(format!(
            "{{\"metadata\": {{\"name\": \"b\", \"labels\": {deep}, \"managedFields\": [{{\"fieldsV1\": {deep}}}]}}, \"spec\": {deep}}}",
            deep = nested("{\"a\":", "}", levels)
        ));
    }
    bodies.push(format!("a0: &a0 [x]\n{laughs}"));
    let paths = [
        MAPS,
        DEPLOYMENTS,
        NAMESPACES,
        DEFINITIONS,
        "/api/v1/namespaces/default/pods",
        "/apis/events.k8s.io/v1/namespaces/default/events",
    ];
    for path in paths {
        // What takes long is read before the kind matters.
        let is_sent = |body: &&String| path == MAPS || body.len() < 500;
        for body in bodies.iter().filter(is_sent) {
            let item = format!("{path}/a");
            for (method, path, kind) in [
                ("POST", path, "application/json"),
                ("POST", path, "application/yaml"),
                ("PUT", &item, "application/json"),
                ("DELETE", &format!("{path}/none"), "application/json"),
                ("PATCH", &item, JSON),
                ("PATCH", &item, MERGE),
                ("PATCH", &item, STRATEGIC),
                ("PATCH", &format!("{item}?fieldManager=x"), APPLY),
                ("PATCH", &format!("{item}/status"), MERGE),
            ] {
                refused(&client, request(method, path, kind, body.clone())).await;
            }
            assert_eq!(client.get("/version").await.code, 200, "{body:.200}");
        }
    }
}

#[test]
fn a_deep_object_needs_no_large_stack() {
    // The stack size of a runtime's threads, whatever the environment says.
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let served = small.spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let client = Client::new().await;
            client.map("a", "web").await;
            let deep = nested("{\"a\":", "}", 9_000);
            let body = format!(
                "{{\"metadata\": {{\"annotations\": {{\"a\": \"b\"}}}}, \"none\": {deep}}}"
            );
            for (method, path, kind) in [
                ("POST", MAPS, "application/json"),
                ("PATCH", &*format!("{MAPS}/a"), MERGE),
                ("PATCH", &*format!("{MAPS}/a?fieldManager=x"), APPLY),
            ] {
                refused(&client, request(method, path, kind, body.clone())).await;
            }
            let map = client.get(&format!("{MAPS}/a")).await;
            assert_eq!(map.json["metadata"]["annotations"]["a"], "b");
        });
    });
    served.unwrap().join().unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_with_any_query_get_a_response() {
    let client = Client::new().await;
    client.map("a", "web").await;
    let huge = u64::MAX.to_string();
    for query in [
        format!("watch=1&timeoutSeconds={huge}&labelSelector=none"),
        format!("watch=1&timeoutSeconds=1&resourceVersion={huge}"),
        format!("limit={huge}"),
        "limit=-1".into(),
        "limit=1&continue=eyJydiI6OTIyMzM3MjAzNjg1NDc3NTgwNywic3RhcnQiOiIvIn0".into(),
        "labelSelector=((((((".into(),
        format!("labelSelector={}", "a,".repeat(5_000)),
        "fieldSelector=%3D%3D%3D,,,!%3D".into(),
        "resourceVersion=-1".into(),
        "%ff=%ff&&&=&?=%".into(),
        "gracePeriodSeconds=-9223372036854775808".into(),
    ] {
        let open = client
            .open(request("GET", &format!("{MAPS}?{query}"), "", ""))
            .await;
        assert!(open.status().as_u16() < 500, "{query}");
        drop(open);
        assert_eq!(client.get("/version").await.code, 200, "{query}");
    }
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "a"}]}});
    client.post(pods, &pod).await.object();
    for seconds in [i64::MAX, i64::MIN] {
        refused(
            &client,
            request(
                "DELETE",
                &format!("{pods}/a?gracePeriodSeconds={seconds}"),
                "",
                "",
            ),
        )
        .await;
    }
    for path in [
        "/api/v1/namespaces/default%2Fx/configmaps/a",
        "/api/v1/namespaces/%00/configmaps/%ff",
        "/apis///v1/x",
        "//",
        "/api/v1/namespaces/a/status/x/y/z",
    ] {
        refused(&client, request("GET", path, "", "")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn definitions_that_would_cost_too_much_are_refused() {
    let client = Client::new().await;
    let definition = |schema: Value| {
        json!({
            "metadata": {"name": "sites.demo.dev"},
            "spec": {
                "group": "demo.dev", "names": {"plural": "sites", "kind": "Site"}, "scope": "Namespaced",
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
                }],
            },
        })
    };
    let rule =
        |rule: String| json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}]});
    for schema in [
        rule(format!("{}true{}", "(".repeat(50_000), ")".repeat(50_000))),
        rule(format!("{}true{}", "(".repeat(16_000), ")".repeat(16_000))),
        rule(format!("{}true", "!-".repeat(16_000))),
        rule(format!("{}\n", "#".repeat(15_000)).repeat(6)),
        rule(format!("1{} > 0", "+1".repeat(50_000))),
        rule(format!("1{} > 0", "+1".repeat(15_000))),
        rule(format!("self{}", ".a".repeat(15_000))),
        rule(format!("self{}", ".a".repeat(500))),
        rule(format!("self{}", ".a".repeat(50_000))),
        rule(format!("true{}", " && true".repeat(50_000))),
        rule(format!("{}true{}", "[".repeat(50_000), "]".repeat(50_000))),
        json!({"type": "string", "pattern": "(a{1000}){1000}"}),
        json!({"type": "string", "pattern": "(".repeat(50_000)}),
    ] {
        let answer = client.post(DEFINITIONS, &definition(schema.clone())).await;
        let schema = schema.to_string();
        assert_eq!(
            answer.code,
            422,
            "{}: {}",
            &schema[..100],
            answer.text.get(..300).unwrap_or(&answer.text)
        );
    }
}
