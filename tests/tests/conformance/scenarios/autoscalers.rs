//! HorizontalPodAutoscalers, which are served in two versions and stored in one.

use serde_json::{Value, json};

use crate::run::{Ask, Run};

fn scaler(version: &str, name: &str, fields: Value) -> Value {
    let mut spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3});
    for (field, value) in fields.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({
        "apiVersion": format!("autoscaling/{version}"), "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name}, "spec": spec,
    })
}

fn cpu(percent: u32) -> Value {
    json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}}])
}

fn memory() -> Value {
    json!({"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}})
}

/// A status as a server shows it, with metrics that nobody has measured.
pub(crate) async fn of_status(run: &mut Run) {
    let [v1, v2] = ["v1", "v2"]
        .map(|version| run.path(&format!("autoscaling/{version}/horizontalpodautoscalers")));
    let status = json!({"desiredReplicas": 1, "currentMetrics": null, "conditions": null});
    let mut first = scaler("v2", "a", json!({"metrics": null}));
    first["status"] = status.clone();
    let created = run.step("create", Ask::post(&v2, first)).await;
    run.step(
        "put what was read",
        Ask::put(format!("{v2}/a"), created.body),
    )
    .await;
    let read = run.step("read", Ask::get(format!("{v2}/a"))).await;
    let mut status_of = read.body;
    status_of["status"] = status.clone();
    run.step(
        "put a status",
        Ask::put(format!("{v2}/a/status"), status_of),
    )
    .await;
    for (step, ask) in [
        (
            "merge patch",
            Ask::merge(format!("{v2}/a/status"), json!({"status": status})),
        ),
        (
            "strategic patch",
            Ask::strategic(format!("{v2}/a/status"), json!({"status": status})),
        ),
        (
            "JSON patch",
            Ask::json(
                format!("{v2}/a/status"),
                json!([{"op": "add", "path": "/status/currentMetrics", "value": null}]),
            ),
        ),
        (
            "an empty list",
            Ask::merge(
                format!("{v2}/a/status"),
                json!({"status": {"currentMetrics": []}}),
            ),
        ),
    ] {
        run.step(step, ask).await;
    }
    run.step("version 1", Ask::get(format!("{v1}/a"))).await;
    run.step(
        "a status of version 1",
        Ask::merge(
            format!("{v1}/a/status"),
            json!({"status": {"currentReplicas": 2, "currentCPUUtilizationPercentage": 7}}),
        ),
    )
    .await;
    run.step("version 2", Ask::get(format!("{v2}/a"))).await;
    let mut applied = scaler("v2", "a", json!({}));
    applied["status"] = status;
    applied["spec"].take();
    applied.as_object_mut().unwrap().remove("spec");
    run.step(
        "apply a status",
        Ask::apply(format!("{v2}/a/status?fieldManager=s&force=true"), applied),
    )
    .await;
}

/// Applies and other writes in both versions.
pub(crate) async fn of_two_versions(run: &mut Run) {
    let at = |version: &str, name: &str| {
        format!("autoscaling/{version}/horizontalpodautoscalers/{name}")
    };
    let [a, old_a] = ["v2", "v1"].map(|version| run.path(&at(version, "a")));
    let with_memory = || {
        let mut metrics = cpu(60);
        metrics.as_array_mut().unwrap().push(memory());
        metrics
    };
    let apply = |path: &str, manager: &str, object: Value| {
        Ask::apply(format!("{path}?fieldManager={manager}"), object)
    };
    let forced = |path: &str, manager: &str, object: Value| {
        Ask::apply(format!("{path}?fieldManager={manager}&force=true"), object)
    };
    for (step, ask) in [
        (
            "first in version 2",
            apply(
                &a,
                "one",
                scaler("v2", "a", json!({"metrics": cpu(60), "minReplicas": 2})),
            ),
        ),
        (
            "the same manager in version 1",
            apply(
                &old_a,
                "one",
                scaler(
                    "v1",
                    "a",
                    json!({"targetCPUUtilizationPercentage": 60, "minReplicas": 2}),
                ),
            ),
        ),
        ("read in version 2", Ask::get(&a)),
        (
            "another manager, equal",
            apply(
                &old_a,
                "two",
                scaler("v1", "a", json!({"targetCPUUtilizationPercentage": 60})),
            ),
        ),
        (
            "another manager in version 2, a conflict",
            apply(&a, "three", scaler("v2", "a", json!({"metrics": cpu(70)}))),
        ),
        (
            "forced",
            forced(&a, "three", scaler("v2", "a", json!({"metrics": cpu(70)}))),
        ),
        ("read in version 1", Ask::get(&old_a)),
        (
            "a conflict in version 1",
            apply(
                &old_a,
                "one",
                scaler(
                    "v1",
                    "a",
                    json!({"targetCPUUtilizationPercentage": 50, "minReplicas": 1}),
                ),
            ),
        ),
        (
            "left out in version 2",
            forced(&a, "one", scaler("v2", "a", json!({"maxReplicas": 5}))),
        ),
        (
            "left out in version 1",
            apply(&old_a, "two", scaler("v1", "a", json!({"maxReplicas": 5}))),
        ),
        (
            "the other metric",
            forced(
                &a,
                "two",
                scaler("v2", "a", json!({"metrics": with_memory()})),
            ),
        ),
        (
            "back to version 1",
            forced(&old_a, "two", scaler("v1", "a", json!({}))),
        ),
        ("at the end", Ask::get(&a)),
        ("at the end in version 1", Ask::get(&old_a)),
    ] {
        run.step(step, ask).await;
    }
    let [b, old_b] = ["v2", "v1"].map(|version| run.path(&at(version, "b")));
    let collection = run.path("autoscaling/v1/horizontalpodautoscalers");
    for (step, ask) in [
        (
            "written in version 1",
            Ask::post(
                &collection,
                scaler("v1", "b", json!({"targetCPUUtilizationPercentage": 40})),
            ),
        ),
        (
            "changed in version 2",
            Ask::merge(
                &b,
                json!({"spec": {"metrics": with_memory(), "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}}}),
            ),
        ),
        ("its owners in version 1", Ask::get(&old_b)),
        (
            "changed in version 1",
            Ask::merge(
                &old_b,
                json!({"spec": {"targetCPUUtilizationPercentage": 45}}),
            ),
        ),
        (
            "applied over it",
            apply(
                &b,
                "one",
                scaler("v2", "b", json!({"metrics": with_memory()})),
            ),
        ),
        (
            "applied in version 1",
            apply(
                &old_b,
                "one",
                scaler("v1", "b", json!({"targetCPUUtilizationPercentage": 45})),
            ),
        ),
        ("its end", Ask::get(&b)),
    ] {
        run.step(step, ask).await;
    }
}
