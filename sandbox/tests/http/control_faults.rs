//! The controls below `/sandbox/` that break requests and watches, by what another client notices; and the `Status` of planned failures.

use std::time::Duration;

use http::HeaderMap;
use pilothouse_sandbox::internals::protobuf;
use pilothouse_sandbox::{Answer as Planned, RequestMatcher, Sandbox};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::client::{Client, DEPLOYMENTS, MAPS, event, request, version};

const PODS: &str = "/api/v1/namespaces/default/pods";
/// Longer than the pause between bookmarks, so that a silent watch is a held one.
const SILENCE: Duration = Duration::from_secs(70);

async fn client() -> Client {
    let builder = Sandbox::builder().seed(1).controls_over_http(true);
    Client::of(builder.build().unwrap()).await
}

/// Uses a control, and returns its answer.
async fn control(client: &Client, path: &str, body: Value) -> Value {
    client
        .post(&format!("/sandbox/{path}"), &body)
        .await
        .object()
}

fn create(name: &str) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let map = json!({"metadata": {"name": name}}).to_string();
    request("POST", MAPS, "application/json", map)
}

fn of_maps() -> Value {
    json!({"resource": "configmaps"})
}

#[tokio::test(start_paused = true)]
async fn by_url_responses_are_lost_as_often_as_planned_and_the_requests_are_carried_out() {
    let client = client().await;
    let creates = json!({"verb": "create", "resource": "configmaps"});
    let lose = json!({"fault": "loseResponse", "match": creates, "times": 2});
    control(&client, "faults", lose).await;
    for (name, is_answered) in [("a", false), ("b", false), ("c", true)] {
        assert_eq!(
            client.is_answered(create(name)).await,
            is_answered,
            "{name}"
        );
        let map = client.get(&format!("{MAPS}/{name}")).await;
        assert_eq!(map.code, 200, "{name}");
    }
    let requests = client.get("/sandbox/requests").await.json["items"].take();
    let requests = requests.as_array().unwrap().iter();
    let mut creates = requests.filter(|request| request["verb"] == "create");
    assert!(creates.all(|request| request["status"] == 201));
}

#[tokio::test(start_paused = true)]
async fn by_url_a_request_is_carried_out_later_and_then_answered() {
    let client = client().await;
    let creates = json!({"verb": "create", "resource": "configmaps"});
    let delay = json!({"fault": "delayRequest", "match": creates, "milliseconds": 30_000});
    control(&client, "faults", delay).await;
    let begun = Instant::now();
    let looked = async {
        tokio::time::sleep(Duration::from_secs(29)).await;
        client.get(&format!("{MAPS}/a")).await.code
    };
    let (created, before) = tokio::join!(client.is_answered(create("a")), looked);
    assert_eq!((created, before), (true, 404));
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert_eq!(client.get(&format!("{MAPS}/a")).await.code, 200);
    // The next one is not late.
    let begun = Instant::now();
    assert!(client.is_answered(create("b")).await);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn by_url_watches_break_off_and_end() {
    let client = client().await;
    let mut other = client.watch(&format!("{PODS}?watch=1")).await;
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    let drop = json!({"action": "drop", "match": of_maps()});
    assert_eq!(control(&client, "watches", drop).await["watches"], 1);
    assert!(watch.next().await.is_err(), "it breaks off");

    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    let close = json!({"action": "close", "match": of_maps()});
    assert_eq!(control(&client, "watches", close).await["watches"], 1);
    assert_eq!(watch.next().await.unwrap(), None, "it ends in good order");

    // Only the matching ones did.
    let all = json!({"action": "close"});
    assert_eq!(control(&client, "watches", all).await["watches"], 1);
    assert_eq!(other.next().await.unwrap(), None);
    let none = json!({"action": "drop"});
    assert_eq!(control(&client, "watches", none).await["watches"], 0);
}

#[tokio::test(start_paused = true)]
async fn by_url_a_held_watch_delivers_nothing_until_it_is_released() {
    let client = client().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let mut other = client.watch(&format!("{accounts}?watch=1")).await;
    let mut before = client.watch(&format!("{MAPS}?watch=1")).await;
    let hold = json!({"action": "hold", "match": of_maps()});
    assert_eq!(control(&client, "watches", hold).await["watches"], 1);
    let mut after = client.watch(&format!("{MAPS}?watch=1")).await;
    client.map("a", "web").await;
    let account = json!({"metadata": {"name": "b"}});
    client.post(accounts, &account).await.object();
    assert_eq!(other.next_event_name().await, event("ADDED", "b"));
    for watch in [&mut before, &mut after] {
        let event = timeout(SILENCE, watch.event()).await;
        assert!(event.is_err(), "{event:?}");
    }
    let release = json!({"action": "release"});
    assert_eq!(control(&client, "watches", release).await["watches"], 3);
    for watch in [&mut before, &mut after] {
        assert_eq!(watch.next_event_name().await, event("ADDED", "a"));
    }
}

#[tokio::test(start_paused = true)]
async fn by_url_a_compaction_makes_older_versions_expire() {
    let client = client().await;
    let old = version(&client.map("a", "web").await).to_owned();
    client.map("b", "web").await;
    let page = client.get(&format!("{MAPS}?limit=1")).await.json;
    let exact = format!("{MAPS}?resourceVersion={old}&resourceVersionMatch=Exact");
    let token = page["metadata"]["continue"].as_str().unwrap();
    let next = format!("{MAPS}?limit=1&continue={token}");
    assert_eq!(client.get(&exact).await.code, 200);
    assert_eq!(client.get(&next).await.code, 200);

    client.map("c", "web").await;
    assert_eq!(control(&client, "compact", json!({})).await, json!({}));
    for path in [&exact, &next] {
        let expired = client.get(path).await;
        assert_eq!(
            (expired.code, &expired.json["reason"]),
            (410, &json!("Expired")),
            "{path}"
        );
    }
    let mut watch = client
        .watch(&format!("{MAPS}?watch=1&resourceVersion={old}"))
        .await;
    let (kind, status) = watch.event().await;
    assert_eq!((&*kind, &status["code"]), ("ERROR", &json!(410)));
    // What is there stays.
    let list = client.get(MAPS).await.json;
    assert_eq!(list["items"].as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn by_url_a_partition_lasts_until_it_is_deleted() {
    let client = client().await;
    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    control(&client, "partitions", json!({"match": of_maps()})).await;
    assert!(watch.next().await.is_err(), "its connection is cut");
    client.delete("/sandbox/requests").await.object();
    assert!(!client.is_answered(create("a")).await);
    assert!(!client.is_answered(request("GET", MAPS, "", "")).await);
    assert_eq!(client.get(PODS).await.code, 200);
    let requests = client.get("/sandbox/requests").await.json["items"].take();
    let seen: Vec<&Value> = requests
        .as_array()
        .unwrap()
        .iter()
        .map(|request| &request["resource"])
        .collect();
    assert_eq!(seen, ["pods"]);

    client.delete("/sandbox/partitions").await.object();
    assert_eq!(
        client.get(&format!("{MAPS}/a")).await.code,
        404,
        "nothing was carried out"
    );
    assert!(client.is_answered(create("a")).await);
    assert_eq!(client.get("/sandbox/partitions").await.code, 405);
}

#[tokio::test(start_paused = true)]
async fn by_url_everything_that_is_planned_can_be_deleted() {
    let client = client().await;
    let first = version(&client.map("a", "web").await).to_owned();
    let fail = json!({"fault": "answer", "match": of_maps(), "code": 500, "times": 9});
    control(&client, "faults", fail).await;
    control(
        &client,
        "partitions",
        json!({"match": {"resource": "pods"}}),
    )
    .await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let mut watch = client.watch(&format!("{accounts}?watch=1")).await;
    control(&client, "watches", json!({"action": "hold"})).await;
    let account = client
        .post(accounts, &json!({"metadata": {"name": "b"}}))
        .await
        .object();
    let hold = json!({"action": "hold", "resourceVersion": first});
    control(&client, "caches", hold).await;
    let cached = async || {
        let list = client
            .get(&format!("{accounts}?resourceVersion=0"))
            .await
            .json;
        version(&list).to_owned()
    };
    assert_eq!(client.get(MAPS).await.code, 500);
    assert!(!client.is_answered(request("GET", PODS, "", "")).await);
    assert!(timeout(SILENCE, watch.event()).await.is_err());
    assert_eq!(cached().await, first);

    client.delete("/sandbox/faults").await.object();
    assert_eq!(client.get(MAPS).await.code, 200);
    assert!(client.is_answered(request("GET", PODS, "", "")).await);
    assert_eq!(watch.next_event_name().await, event("ADDED", "b"));
    assert_eq!(cached().await, version(&account));
}

/// Codes and reasons of failures, and the details of a `Status` that a real server sends with them for the ConfigMap `a`.
fn failures() -> Vec<(u16, &'static str, Value)> {
    let object = json!({"name": "a", "kind": "configmaps"});
    let told = json!({"causes": [{"message": "not now"}]});
    vec![
        (403, "Forbidden", object.clone()),
        (409, "Conflict", object.clone()),
        (409, "AlreadyExists", object),
        (410, "Expired", Value::Null),
        (410, "Gone", Value::Null),
        (429, "TooManyRequests", json!({"retryAfterSeconds": 7})),
        (500, "InternalError", told),
        (503, "ServiceUnavailable", Value::Null),
    ]
}

fn status(code: u16, reason: &str, details: &Value) -> Value {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "not now", "reason": reason, "code": code,
    });
    if !details.is_null() {
        status["details"] = details.clone();
    }
    status
}

#[track_caller]
fn is_json(headers: &HeaderMap, retry_after: Option<&str>) {
    assert_eq!(headers["content-type"], "application/json");
    let found = headers
        .get("retry-after")
        .map(|value| value.to_str().unwrap());
    assert_eq!(found, retry_after);
}

#[tokio::test(start_paused = true)]
async fn a_planned_failure_is_a_whole_status_in_rust_and_by_url() {
    let client = client().await;
    let map = client.map("a", "web").await;
    let one = format!("{MAPS}/a");
    for (code, reason, details) in failures() {
        let expected = status(code, reason, &details);
        let retry_after = (code == 429).then_some(7);
        let header = retry_after.map(|_| "7");
        let mut planned = Planned::status(code, reason).message("not now");
        if let Some(seconds) = retry_after {
            planned = planned.retry_after(Duration::from_secs(seconds));
        }
        let in_rust = || {
            let maps = RequestMatcher::any().resource("configmaps");
            client.sandbox.faults().answer(maps, planned.clone(), 1);
        };
        let mut by_url = json!({"fault": "answer", "match": of_maps(), "code": code, "reason": reason, "message": "not now"});
        if let Some(seconds) = retry_after {
            by_url["retryAfterSeconds"] = json!(seconds);
        }
        for way in ["Rust", "URL"] {
            let plan = async || match way {
                "Rust" => in_rust(),
                _ => drop(control(&client, "faults", by_url.clone()).await),
            };
            // A write that fails changes nothing.
            plan().await;
            let mut changed = map.clone();
            changed["data"]["a"] = json!("changed");
            let failed = client.put(&one, &changed).await;
            assert_eq!((failed.code, &failed.json), (code, &expected), "{way}");
            is_json(&failed.headers, header);
            let read = client.get(&one).await;
            assert_eq!((read.code, &read.json), (200, &map), "{way}");
            // Reads and watches fail alike.
            plan().await;
            let failed = client.get(&one).await;
            assert_eq!((failed.code, &failed.json), (code, &expected), "{way}");
            plan().await;
            let failed = client
                .get(&format!("{MAPS}?watch=1&fieldSelector=metadata.name%3Da"))
                .await;
            assert_eq!(failed.code, code, "{way}");
            assert_eq!(failed.json["reason"], reason, "{way}");
            // Also in protobuf.
            plan().await;
            let mut get = request("GET", &one, "", "");
            let accept = "application/vnd.kubernetes.protobuf".parse().unwrap();
            get.headers_mut().insert("accept", accept);
            let failed = client.open(get).await;
            assert_eq!(failed.status(), code);
            let body = http_body_util::BodyExt::collect(failed.into_body())
                .await
                .unwrap();
            let body = body.to_bytes();
            assert!(body.starts_with(b"k8s\0"), "{body:?}");
            let decoded = protobuf::decode(&body, ("", ""), |object| object).ok();
            assert_eq!(decoded.as_ref(), Some(&expected), "{way}");
        }
    }
    assert_eq!(client.get(&one).await.json, map);
}

#[tokio::test(start_paused = true)]
async fn a_planned_conflict_has_the_fields_of_a_real_one() {
    let client = client().await;
    let labels = json!({"app": "web"});
    let deployment = json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}, "template": {
        "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let deployment = client.post(DEPLOYMENTS, &deployment).await.object();
    let one = format!("{DEPLOYMENTS}/web");
    let mut stale = deployment.clone();
    stale["metadata"]["resourceVersion"] = json!("1");
    let mut real = client.put(&one, &stale).await.json;
    let fault =
        json!({"fault": "answer", "match": {"verb": "update"}, "code": 409, "reason": "Conflict"});
    control(&client, "faults", fault).await;
    let mut planned = client.put(&one, &deployment).await.json;
    assert_eq!(planned["message"].take(), "injected fault: Conflict");
    assert!(
        real["message"]
            .take()
            .as_str()
            .unwrap()
            .starts_with("Operation cannot be fulfilled")
    );
    assert_eq!(planned, real);
    assert_eq!(
        real["details"],
        json!({"name": "web", "group": "apps", "kind": "deployments"})
    );
}
