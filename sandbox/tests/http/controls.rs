use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::client::{Client, DEPLOYMENTS, MAPS};

async fn client() -> Client {
    let builder = Sandbox::builder().seed(1).controls_over_http(true);
    Client::of(builder.build().unwrap()).await
}

#[tokio::test(start_paused = true)]
async fn a_test_in_another_language_plans_faults_and_reads_the_requests() {
    let client = client().await;
    let list = json!({"verb": "list", "resource": "configmaps"});
    let busy = json!({"fault": "answer", "match": list, "code": 429, "reason": "TooManyRequests", "retryAfterSeconds": 7});
    assert_eq!(client.post("/sandbox/faults", &busy).await.code, 200);
    let cut = json!({"match": {"user": "nobody"}});
    assert_eq!(client.post("/sandbox/partitions", &cut).await.code, 200);
    let refused = client.get(MAPS).await;
    assert_eq!(
        (refused.code, &refused.headers["retry-after"]),
        (429, &"7".parse().unwrap())
    );
    let down = json!({"fault": "answer", "code": 503});
    client.post("/sandbox/faults", &down).await;
    assert_eq!(
        client.get(MAPS).await.failure(),
        (503, "", "injected fault: 503")
    );
    let late = json!({"fault": "delayResponse", "milliseconds": 2500});
    client.post("/sandbox/faults", &late).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(client.get(MAPS).await.code, 200);
    assert!(begun.elapsed().as_millis() >= 2500);

    let requests = client.get("/sandbox/requests").await.json["items"].take();
    let told: Vec<(&Value, &Value)> = requests
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["verb"], &one["status"]))
        .collect();
    let list = json!("list");
    let codes = [429, 503, 200].map(|code| json!(code));
    assert_eq!(told, codes.each_ref().map(|code| (&list, code)));
    assert_eq!(requests[0]["resource"], "configmaps");
    client.delete("/sandbox/requests").await;
    assert_eq!(
        client.get("/sandbox/requests").await.json["items"],
        json!([])
    );

    let mut watch = client.watch(&format!("{MAPS}?watch=1")).await;
    let drop = json!({"action": "expire", "match": {"resource": "configmaps"}});
    assert_eq!(
        client.post("/sandbox/watches", &drop).await.json["watches"],
        1
    );
    assert_eq!(watch.event().await.0, "ERROR");
}

#[tokio::test(start_paused = true)]
async fn a_test_in_another_language_restores_snapshots() {
    let client = client().await;
    client.map("a", "one").await;
    let name = client.post("/sandbox/snapshots", &json!({})).await.json["name"].take();
    client.delete(&format!("{MAPS}/a")).await;
    let restore = format!("/sandbox/snapshots/{}/restore", name.as_str().unwrap());
    assert_eq!(client.post(&restore, &json!({})).await.code, 200);
    assert_eq!(client.get(&format!("{MAPS}/a")).await.code, 200);
    for _ in 1..64 {
        assert_eq!(
            client.post("/sandbox/snapshots", &json!({})).await.code,
            200
        );
    }
    assert_eq!(
        client.post("/sandbox/snapshots", &json!({})).await.code,
        429
    );
    assert_eq!(client.delete("/sandbox/snapshots/1").await.code, 200);
    assert_eq!(client.post(&restore, &json!({})).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn a_test_in_another_language_sets_the_figures_of_an_autoscaler() {
    let sandbox = Sandbox::builder().seed(1).simulator(true);
    let sandbox = sandbox.controls_over_http(true).build().unwrap();
    let client = Client::of(sandbox).await;
    let labels = json!({"app": "web"});
    let deployment = json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}, "template": {
        "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    client.post(DEPLOYMENTS, &deployment).await.object();
    let metric = json!({"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "10"}}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let autoscaler = json!({"metadata": {"name": "web"}, "spec": {"scaleTargetRef": target, "maxReplicas": 9, "metrics": [metric]}});
    let autoscalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    client.post(autoscalers, &autoscaler).await.object();
    let figure = json!({"type": "external", "metric": "queue", "quantity": 25});
    assert_eq!(client.post("/sandbox/figures", &figure).await.code, 200);
    let replicas = async || {
        let deployment = client.get(&format!("{DEPLOYMENTS}/web")).await.object();
        deployment["spec"]["replicas"].clone()
    };
    tokio::time::sleep(std::time::Duration::from_secs(20)).await;
    assert_eq!(replicas().await, 3);
    assert_eq!(client.delete("/sandbox/figures").await.code, 200);
    tokio::time::sleep(std::time::Duration::from_secs(20)).await;
    let shown = client.get(&format!("{autoscalers}/web")).await.object();
    let shown = shown["status"]["conditions"].to_string();
    assert!(shown.contains("FailedGetExternalMetric"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_test_in_another_language_sets_the_clock() {
    let builder = Sandbox::builder().seed(1).simulator(true);
    let client = Client::of(builder.controls_over_http(true).build().unwrap()).await;
    let clock = "/sandbox/clock";
    let paused = client.post(clock, &json!({"action": "pause"})).await.json;
    let cron_job = json!({
        "metadata": {"name": "hourly"},
        "spec": {"schedule": "@hourly", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}],
        }}}}},
    });
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    client
        .post("/apis/batch/v1/namespaces/default/cronjobs", &cron_job)
        .await
        .object();
    // While the clock stands still, no hour passes.
    tokio::time::sleep(std::time::Duration::from_secs(7200)).await;
    assert_eq!(client.get(jobs).await.json["items"], json!([]));
    assert_eq!(client.get(clock).await.json, paused);
    assert_eq!(paused["paused"], true);
    let hour = json!({"action": "advance", "seconds": 3601});
    assert_eq!(client.post(clock, &hour).await.code, 200);
    client
        .until(jobs, |answer| {
            answer.json["items"].as_array().unwrap().len() == 1
        })
        .await;
    let running = client.post(clock, &json!({"action": "resume"})).await.json;
    assert_eq!(running["paused"], false);
    // The Pod of the Job starts and ends by the same clock.
    client
        .until(jobs, |answer| {
            answer.json["items"][0]["status"]["succeeded"] == 1
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_test_in_another_language_holds_caches_back_and_turns_versions_back() {
    let client = client().await;
    let map = client.map("a", "one").await;
    let name = client.post("/sandbox/snapshots", &json!({})).await.json["name"].take();
    client.map("b", "two").await;
    let hold = json!({
        "action": "hold", "match": {"resource": "configmaps"}, "resourceVersion": map["metadata"]["resourceVersion"],
    });
    assert_eq!(client.post("/sandbox/caches", &hold).await.code, 200);
    let cached = async || {
        let list = client.get(&format!("{MAPS}?resourceVersion=0")).await.json;
        list["items"].as_array().unwrap().len()
    };
    assert_eq!(cached().await, 1);
    client
        .post("/sandbox/caches", &json!({"action": "release"}))
        .await;
    assert_eq!(cached().await, 2);
    let before = client.sandbox.resource_version();
    let rewind = format!("/sandbox/snapshots/{}/rewind", name.as_str().unwrap());
    assert_eq!(client.post(&rewind, &json!({})).await.code, 200);
    assert!(client.sandbox.resource_version() < before);
    assert_eq!(cached().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_control_is_refused_with_what_is_wrong() {
    let client = client().await;
    for (path, body, code, text) in [
        (
            "faults",
            json!({"fault": "answer"}),
            400,
            "the field `code`",
        ),
        (
            "faults",
            json!({"fault": "answer", "code": 200}),
            400,
            "from 400 to 599",
        ),
        (
            "faults",
            json!({"fault": "answer", "code": 500, "reason": "Odd"}),
            400,
            "InternalError",
        ),
        (
            "faults",
            json!({"fault": "delayRequest"}),
            400,
            "`milliseconds`",
        ),
        (
            "faults",
            json!({"fault": "answer", "match": {"kind": "Pod"}}),
            400,
            "`kind`",
        ),
        (
            "figures",
            json!({"type": "external", "metric": "m"}),
            400,
            "the field `quantity`",
        ),
        (
            "figures",
            json!({"type": "external", "metric": "m", "quantity": "many"}),
            400,
            "\"many\" is not a quantity",
        ),
        (
            "figures",
            json!({"type": "pods", "metric": "m", "quantity": 1}),
            400,
            "`workload`",
        ),
        ("clock", json!({"action": "advance"}), 400, "`seconds`"),
        ("clock", json!({"action": "stop"}), 400, "`stop`"),
        (
            "caches",
            json!({"action": "hold", "resourceVersion": "x"}),
            400,
            "\"x\"",
        ),
        ("snapshots/x/restore", json!({}), 404, "\"x\""),
    ] {
        let refused = client.post(&format!("/sandbox/{path}"), &body).await;
        let (found, _, message) = refused.failure();
        assert!(found == code && message.contains(text), "{body}: {message}");
    }
    assert_eq!(client.get("/sandbox/faults").await.code, 405);
    assert_eq!(client.get("/sandbox/caches").await.code, 405);
    assert_eq!(client.get("/sandbox/other").await.code, 404);
    // Without the setting there are no such paths.
    assert_eq!(Client::new().await.get("/sandbox/requests").await.code, 404);
}

#[tokio::test]
async fn the_record_of_a_create_has_the_name_that_the_object_got() {
    let client = client().await;
    let map = json!({"metadata": {"generateName": "a-"}});
    let created = client.post(MAPS, &map).await.json;
    let requests = client.get("/sandbox/requests").await.json["items"].take();
    assert_eq!(requests[0]["name"], created["metadata"]["name"]);
}
