//! Subresources that are requests (eviction, binding, tokens), and the parts of a Pod that have their own path.

use serde_json::{Value, json};

use crate::run::{Ask, Run};

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            // The admission of a real server adds these fields; that of the sandbox only with the simulator.
            "automountServiceAccountToken": false, "serviceAccountName": "default",
            "containers": [{"name": "one", "image": "one:1", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}}],
        },
    })
}

fn eviction(name: &str, options: Value) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options})
}

pub(crate) async fn pods(run: &mut Run) {
    let path = run.path("v1/pods");
    run.until(
        Ask::post(
            run.path("v1/serviceaccounts"),
            json!({"metadata": {"name": "default"}}),
        ),
        |answer| matches!(answer.code, 201 | 409),
    )
    .await;
    run.step("pod", Ask::post(&path, pod("a"))).await;
    let one = format!("{path}/a");

    let patch = |name: &str| {
        Ask::strategic(
            format!("{one}/ephemeralcontainers"),
            json!({"spec": {"ephemeralContainers": [{"name": name, "image": "debug:1"}]}}),
        )
    };
    run.step(
        "ephemeral: none",
        Ask::get(format!("{one}/ephemeralcontainers")),
    )
    .await;
    run.step("ephemeral: one", patch("debug")).await;
    run.step("ephemeral: another", patch("other")).await;
    run.step("ephemeral: of a container's name", patch("one"))
        .await;
    run.step(
        "ephemeral: removed",
        Ask::json(
            format!("{one}/ephemeralcontainers"),
            json!([{"op": "remove", "path": "/spec/ephemeralContainers/0"}]),
        ),
    )
    .await;
    run.step(
        "ephemeral: create",
        Ask::post(format!("{one}/ephemeralcontainers"), json!({})),
    )
    .await;
    run.step(
        "ephemeral: of nothing",
        Ask::get(format!("{path}/none/ephemeralcontainers")),
    )
    .await;

    let resize = |body: Value| {
        Ask::strategic(
            format!("{one}/resize"),
            json!({"spec": {"containers": [body]}}),
        )
    };
    run.step(
        "resize",
        resize(json!({"name": "one", "resources": {"requests": {"cpu": "150m"}}})),
    )
    .await;
    run.step(
        "resize: removed",
        resize(json!({"name": "one", "resources": {"limits": null}})),
    )
    .await;
    run.step("resize: another class", resize(json!({"name": "one", "resources": {"requests": {"cpu": "200m", "memory": "1Mi"}, "limits": {"memory": "1Mi"}}}))).await;
    run.step(
        "resize: another resource",
        resize(json!({"name": "one", "resources": {"requests": {"ephemeral-storage": "1Mi"}}})),
    )
    .await;
    run.step(
        "resize: another container",
        resize(json!({"name": "two", "image": "two:1"})),
    )
    .await;
    run.step("resize: get", Ask::get(format!("{one}/resize")))
        .await;
    let running = json!({"status": {"containerStatuses": [{
        "name": "one", "image": "one:1", "imageID": "", "ready": true, "restartCount": 0,
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    }]}});
    let ran = Ask::merge(format!("{one}/status"), running);
    assert_eq!(run.send_unrecorded(ran).await.code, 200);
    run.step(
        "resize: on a node without support",
        resize(json!({"name": "one", "resources": {"requests": {"cpu": "160m"}}})),
    )
    .await;

    let binding = |pod: &str, target: Value| {
        Ask::post(
            format!("{path}/{pod}/binding"),
            json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod, "labels": {"zone": "z"}, "annotations": {"by": "me"}}, "target": target}),
        )
    };
    run.step("binding without a node", binding("a", json!({})))
        .await;
    run.step(
        "binding to another kind",
        binding("a", json!({"kind": "Pod", "name": "n"})),
    )
    .await;
    run.step(
        "binding of another name",
        Ask::post(
            format!("{one}/binding"),
            json!({"metadata": {"name": "b"}, "target": {"name": "n"}}),
        ),
    )
    .await;
    run.step("binding of nothing", binding("none", json!({"name": "n"})))
        .await;
    run.step(
        "binding",
        binding("a", json!({"kind": "Node", "name": "far-away"})),
    )
    .await;
    run.step("binding: after", Ask::get(&one)).await;
    run.step("binding again", binding("a", json!({"name": "other"})))
        .await;
    run.step("binding: get", Ask::get(format!("{one}/binding")))
        .await;
}

pub(crate) async fn evictions(run: &mut Run) {
    let path = run.path("v1/pods");
    let budgets = run.path("policy/v1/poddisruptionbudgets");
    run.until(
        Ask::post(
            run.path("v1/serviceaccounts"),
            json!({"metadata": {"name": "default"}}),
        ),
        |answer| matches!(answer.code, 201 | 409),
    )
    .await;
    let evict = |name: &str, options: Value| {
        Ask::post(format!("{path}/{name}/eviction"), eviction(name, options))
    };
    let phase = |name: &str, phase: &str, ready: &str| {
        Ask::merge(
            format!("{path}/{name}/status"),
            json!({"status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready, "lastProbeTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}),
        )
    };

    run.step("pending pod", Ask::post(&path, pod("a"))).await;
    run.step(
        "another name",
        Ask::post(format!("{path}/a/eviction"), eviction("b", json!(null))),
    )
    .await;
    run.step("of nothing", evict("none", json!(null))).await;
    run.step("get", Ask::get(format!("{path}/a/eviction")))
        .await;
    run.step("dry run", evict("a", json!({"dryRun": ["All"]})))
        .await;
    run.step(
        "another uid",
        evict("a", json!({"preconditions": {"uid": "other"}})),
    )
    .await;
    run.step("pending", evict("a", json!(null))).await;
    run.step("pending: gone", Ask::get(format!("{path}/a")))
        .await;

    let mut placed = pod("b");
    placed["spec"]["nodeName"] = "far-away".into();
    run.step("placed pod", Ask::post(&path, placed)).await;
    run.step("running", phase("b", "Running", "True")).await;
    let budget = |name: &str, spec: Value| json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec});
    run.step(
        "budget",
        Ask::post(
            &budgets,
            budget(
                "b",
                json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "b"}}}),
            ),
        ),
    )
    .await;
    let status =
        |status: Value| Ask::merge(format!("{budgets}/b/status"), json!({"status": status}));
    run.step("seen", status(json!({"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}))).await;
    run.step("refused", evict("b", json!(null))).await;
    run.step("more than needed", status(json!({"currentHealthy": 2})))
        .await;
    run.step("refused all the same", evict("b", json!(null)))
        .await;
    run.step("with its reason", status(json!({"conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}))).await;
    run.step("refused with a reason", evict("b", json!(null)))
        .await;
    run.step("allowed", status(json!({"disruptionsAllowed": 1})))
        .await;
    run.step("dry", evict("b", json!({"dryRun": ["All"]})))
        .await;
    run.step("dry: the budget", Ask::get(format!("{budgets}/b")))
        .await;
    run.step(
        "second budget",
        Ask::post(
            &budgets,
            budget("c", json!({"maxUnavailable": 0, "selector": {}})),
        ),
    )
    .await;
    run.step("two budgets", evict("b", json!(null))).await;
    run.step("no second budget", Ask::delete(format!("{budgets}/c")))
        .await;
    run.step("evicted", evict("b", json!({"gracePeriodSeconds": 7})))
        .await;
    run.step("evicted: the pod", Ask::get(format!("{path}/b")))
        .await;
    run.step("evicted: the budget", Ask::get(format!("{budgets}/b")))
        .await;
    run.step("again", evict("b", json!(null))).await;
    run.step("unready", phase("b", "Running", "False")).await;
    run.step(
        "budget without version",
        Ask::put(
            format!("{budgets}/b"),
            budget("b", json!({"minAvailable": 2})),
        ),
    )
    .await;
}

pub(crate) async fn tokens(run: &mut Run) {
    let accounts = run.path("v1/serviceaccounts");
    run.step(
        "account",
        Ask::post(&accounts, json!({"metadata": {"name": "robot"}})),
    )
    .await;
    let path = format!("{accounts}/robot/token");
    let ask = |spec: Value| {
        Ask::post(
            &path,
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}),
        )
    };
    for (step, spec) in [
        ("token: short", json!({"expirationSeconds": 599})),
        ("token: long", json!({"expirationSeconds": 4294967297i64})),
        (
            "token: of a kind",
            json!({"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}),
        ),
        (
            "token: of nothing",
            json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "x"}}),
        ),
    ] {
        run.step(step, ask(spec)).await;
    }
    run.step(
        "token: of no account",
        Ask::post(format!("{accounts}/none/token"), json!({"spec": {}})),
    )
    .await;
    run.step(
        "token: of another name",
        Ask::post(&path, json!({"metadata": {"name": "other"}, "spec": {}})),
    )
    .await;
    run.step("token: get", Ask::get(&path)).await;
    let answer = run
        .send_unrecorded(ask(json!({"audiences": ["me"], "expirationSeconds": 700})))
        .await;
    let mut told = answer.body.clone();
    let token = told["status"]["token"].take();
    run.record(
        "token",
        json!({
            "code": answer.code, "body": told,
            "parts": token.as_str().map(|token| token.split('.').count()),
        }),
    );
}
