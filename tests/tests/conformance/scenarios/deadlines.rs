//! How long a server works on a request.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::hook_server::HookServer;
use crate::run::{Answer, Ask, Run};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
/// The webhooks of ConfigMaps whose label has their name.
const LABEL: &str = "hook";

fn answer(_: &str, review: &Value) -> (u16, String) {
    let response = json!({"uid": review["request"]["uid"], "allowed": true});
    let review = json!({
        "apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response,
    });
    (200, review.to_string())
}

fn map(name: &str, hook: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {LABEL: hook}}})
}

pub(crate) async fn of_requests(run: &mut Run) {
    let maps = run.path("v1/configmaps");
    for text in [
        "soon", "5", "5d", "", "0", "-1s", ".s", "1.5h", "1ms1", "9999999h",
    ] {
        let ask = Ask::get(format!("{maps}?timeout={text}"));
        run.step(format!("read with the timeout {text:?}"), ask)
            .await;
    }
    let ask = Ask::post(format!("{maps}?timeout=soon"), map("a", ""));
    run.step("write with a wrong timeout", ask).await;
    run.step(
        "a path with a wrong timeout",
        Ask::get("/version?timeout=soon"),
    )
    .await;
    webhooks(run, &maps).await;
}

async fn webhooks(run: &mut Run, maps: &str) {
    // These answer after 20 s.
    let server = HookServer::start(answer).await;
    let namespace = run.namespace.clone();
    let hook = |name: &str, seconds: u32, of: &str| {
        json!({
            "name": format!("{name}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore", "timeoutSeconds": seconds,
            "clientConfig": {"url": format!("{}/slow", server.url), "caBundle": STANDARD.encode(&server.authority)},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "objectSelector": {"matchLabels": {LABEL: of}},
        })
    };
    let mut fails = hook("fails", 1, "fails");
    fails["failurePolicy"] = "Fail".into();
    let hooks = [
        fails,
        hook("short", 1, "short"),
        hook("first", 25, "two"),
        hook("second", 25, "two"),
    ];
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": namespace}, "webhooks": hooks,
    });
    let made = run
        .send_unrecorded(Ask::post(CONFIGURATIONS, configuration))
        .await;
    assert_eq!(made.code, 201, "{made:?}");
    // A real server sees a new configuration a little later. The probe is not in force for longer than its timeout.
    let probe = Ask::post(format!("{maps}?dryRun=All"), map("probe", "short"));
    loop {
        run.send_unrecorded(probe.clone()).await;
        if !server.take().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let ask = Ask::post(format!("{maps}?timeout=10s"), map("short", "short"));
    run.step("a webhook ends before the request", ask).await;
    record(run, &server, "a webhook ends before the request");
    let answer = run
        .send_unrecorded(Ask::post(maps, map("fails", "fails")))
        .await;
    // The text has the port of the webhook.
    let message = answer.body["message"].as_str().unwrap_or_default();
    let (from, to) = (
        message.split(": Post ").next(),
        message.rsplit("\": ").next(),
    );
    run.record(
        "a webhook without an answer in time fails the request",
        json!([answer.code, answer.body["reason"], from, to]),
    );
    record(
        run,
        &server,
        "a webhook without an answer in time fails the request",
    );
    let ask = Ask::post(format!("{maps}?timeout=2s"), map("one", "two"));
    let answer = run.send_unrecorded(ask).await;
    // Two parts of a real server write the message, and either may be the first.
    let seen = json!([answer.code, answer.body["reason"]]);
    run.record("a request ends before its webhook", seen);
    record(run, &server, "a request ends before its webhook");
    let ask = Ask::post(maps, map("two", "two"));
    let answer = match run.send_despite_reset(ask.clone()).await {
        Some(answer) => answer,
        None => {
            server.take();
            run.send_unrecorded(ask).await
        }
    };
    run.answers.push(Answer {
        step: "two webhooks take longer than a write may".into(),
        ..answer
    });
    record(run, &server, "two webhooks take longer than a write may");
    let ask = Ask::get(format!("{maps}/two"));
    run.step("two webhooks take longer than a write may: get", ask)
        .await;
    run.send_unrecorded(Ask::delete(format!("{CONFIGURATIONS}/{namespace}")))
        .await;
}

/// Records how much time the server gave the webhooks.
fn record(run: &mut Run, server: &HookServer, step: &str) {
    let asked = server.take();
    let asked: Vec<&Value> = asked.iter().map(|one| &one["query"]).collect();
    run.record(format!("{step}: asked"), json!(asked));
}
