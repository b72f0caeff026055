//! The subresources status and scale, and the generation.

use serde_json::{Value, json};

use super::{
    gadget::{GADGETS, gadget, install},
    patches::workload,
};
use crate::run::{Ask, Run};

pub(crate) async fn subresources(run: &mut Run) {
    install(run).await;
    let path = run.path(GADGETS);
    let mut object = gadget("a", json!({}));
    object["status"] = json!({"replicas": 7});
    object["metadata"]["generation"] = 9.into();
    run.step("create with status", Ask::post(&path, object))
        .await;
    let one = format!("{path}/a");
    run.step("status", Ask::get(format!("{one}/status"))).await;
    run.step("scale before", Ask::get(format!("{one}/scale")))
        .await;
    run.step(
        "spec bumps the generation",
        Ask::merge(&one, json!({"spec": {"replicas": 3}})),
    )
    .await;
    run.step(
        "metadata does not",
        Ask::merge(&one, json!({"metadata": {"labels": {"a": "b"}}})),
    )
    .await;
    run.step(
        "the same again",
        Ask::merge(&one, json!({"spec": {"replicas": 3}})),
    )
    .await;
    run.step(
        "status does not",
        Ask::merge(
            format!("{one}/status"),
            json!({"status": {"replicas": 2, "selector": "a=b"}}),
        ),
    )
    .await;
    run.step("spec by the status path", Ask::merge(format!("{one}/status"), json!({"spec": {"replicas": 50}, "metadata": {"labels": {"c": "d"}}, "status": {"done": true}}))).await;
    run.step(
        "status by the spec's path",
        Ask::merge(&one, json!({"status": {"done": false}})),
    )
    .await;
    run.step(
        "invalid status",
        Ask::merge(format!("{one}/status"), json!({"status": {"phase": "Odd"}})),
    )
    .await;
    run.step(
        "unknown in status",
        Ask::merge(
            format!("{one}/status?fieldValidation=Warn"),
            json!({"status": {"odd": 1}}),
        ),
    )
    .await;
    run.step("json patch of status", Ask::json(format!("{one}/status"), json!([{"op": "add", "path": "/status/conditions", "value": [{"type": "Ready", "status": "True"}]}]))).await;
    run.step("scale", Ask::get(format!("{one}/scale"))).await;
    run.step(
        "scale by merge",
        Ask::merge(format!("{one}/scale"), json!({"spec": {"replicas": 5}})),
    )
    .await;
    run.step(
        "scale by json",
        Ask::json(
            format!("{one}/scale"),
            json!([{"op": "replace", "path": "/spec/replicas", "value": 6}]),
        ),
    )
    .await;
    run.step("scale by put", Ask::put(format!("{one}/scale"), json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": run.namespace}, "spec": {"replicas": 7}}))).await;
    run.step(
        "scale beyond",
        Ask::merge(format!("{one}/scale"), json!({"spec": {"replicas": 700}})),
    )
    .await;
    run.step(
        "scale below",
        Ask::merge(format!("{one}/scale"), json!({"spec": {"replicas": -1}})),
    )
    .await;
    run.step("scale of another name", Ask::put(format!("{one}/scale"), json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "b"}, "spec": {"replicas": 7}}))).await;
    run.step("after scaling", Ask::get(&one)).await;
    run.step(
        "scale of an absent one",
        Ask::get(format!("{path}/none/scale")),
    )
    .await;
    run.step(
        "status of an absent one",
        Ask::merge(format!("{path}/none/status"), json!({})),
    )
    .await;
    run.step("unknown subresource", Ask::get(format!("{one}/other")))
        .await;
    run.step("delete a status", Ask::delete(format!("{one}/status")))
        .await;
    run.step(
        "put a status",
        Ask::put(format!("{one}/status"), gadget("a", json!({"replicas": 1}))),
    )
    .await;

    let path = run.path("apps/v1/deployments");
    run.step("deployment", Ask::post(&path, workload("a")))
        .await;
    let one = format!("{path}/a");
    run.step("deployment: scale", Ask::get(format!("{one}/scale")))
        .await;
    run.step(
        "deployment: scaled",
        Ask::merge(format!("{one}/scale"), json!({"spec": {"replicas": 2}})),
    )
    .await;
    run.step(
        "deployment: scaled by strategic merge",
        Ask::strategic(format!("{one}/scale"), json!({"spec": {"replicas": 1}})),
    )
    .await;
    run.step(
        "deployment: scaled below",
        Ask::merge(format!("{one}/scale"), json!({"spec": {"replicas": -2}})),
    )
    .await;
    run.step("deployment: put", Ask::put(format!("{one}/scale"), json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": run.namespace}, "spec": {"replicas": 0}}))).await;
    run.step("deployment: after scaling", Ask::get(&one)).await;
    run.step("deployment: status", Ask::strategic(format!("{one}/status"), json!({"status": {"replicas": 3, "readyReplicas": 2, "observedGeneration": 1, "conditions": [{"type": "Available", "status": "True", "reason": "R", "message": "M"}]}}))).await;
    run.step(
        "deployment: impossible status",
        Ask::merge(
            format!("{one}/status"),
            json!({"status": {"replicas": 1, "readyReplicas": 5}}),
        ),
    )
    .await;
    run.step(
        "deployment: negative status",
        Ask::merge(
            format!("{one}/status"),
            json!({"status": {"replicas": -1, "readyReplicas": -1}}),
        ),
    )
    .await;
    let pod = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    run.send_unrecorded(Ask::post(run.path("v1/configmaps"), pod))
        .await;
    let map = run.path("v1/configmaps/c");
    run.step("a kind without status", Ask::get(format!("{map}/status")))
        .await;
    run.step("a kind without scale", Ask::get(format!("{map}/scale")))
        .await;
}

/// What of the status of a Job may not change, and what is judged only when it changes.
pub(crate) async fn of_jobs(run: &mut Run) {
    let path = run.path("batch/v1/jobs");
    let job = |name: &str, fields: Value| {
        let mut job = json!({"metadata": {"name": name}, "spec": {
            "completions": 4, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
        }});
        for (name, value) in fields.as_object().unwrap() {
            job["spec"][name] = value.clone();
        }
        job
    };
    let start = "2026-01-01T00:00:00Z";
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
    for (name, fields, first) in [
        (
            "counted",
            json!({}),
            json!({"startTime": start, "failed": 2, "succeeded": 2, "active": 1, "completedIndexes": "0,1", "failedIndexes": "2"}),
        ),
        (
            "scaled",
            json!({"parallelism": 4}),
            json!({"startTime": start, "succeeded": 2, "completedIndexes": "0,1"}),
        ),
        (
            "resumed",
            json!({"suspend": false}),
            json!({"startTime": start, "conditions": [condition("Suspended", "True")]}),
        ),
        (
            "complete",
            json!({}),
            json!({"startTime": start, "completionTime": "2026-01-01T01:00:00Z", "conditions": [condition("SuccessCriteriaMet", "True"), condition("Complete", "True")]}),
        ),
        (
            "failed",
            json!({}),
            json!({"startTime": start, "conditions": [condition("FailureTarget", "True"), condition("Failed", "True")]}),
        ),
    ] {
        run.send_unrecorded(Ask::post(&path, job(name, fields)))
            .await;
        let status = format!("{path}/{name}/status");
        run.step(
            format!("{name}: first"),
            Ask::merge(&status, json!({"status": first})),
        )
        .await;
        let dry = format!("{status}?dryRun=All");
        for (step, change) in [
            ("fewer failures", json!({"failed": 1})),
            ("fewer successes", json!({"succeeded": 1})),
            (
                "another start",
                json!({"startTime": "2026-01-01T00:30:00Z"}),
            ),
            ("no start", json!({"startTime": null})),
            (
                "another end",
                json!({"completionTime": "2026-01-01T02:00:00Z"}),
            ),
            ("no end", json!({"completionTime": null})),
            ("no conditions", json!({"conditions": null})),
            (
                "resumed",
                json!({"startTime": null, "conditions": [condition("Suspended", "False")]}),
            ),
            ("too many ready", json!({"ready": 3})),
            ("overlap", json!({"completedIndexes": "0-2"})),
            (
                "a goal",
                json!({"conditions": [condition("SuccessCriteriaMet", "True")]}),
            ),
            ("active", json!({"active": 2, "terminating": 1})),
        ] {
            run.step(
                format!("{name}: {step}"),
                Ask::merge(&dry, json!({"status": change})),
            )
            .await;
        }
    }
    // A smaller Job has indexes that are too large. They are judged when they change.
    let counted = format!("{path}/counted");
    run.send_unrecorded(Ask::merge(
        &counted,
        json!({"spec": {"completions": 2, "parallelism": 2}}),
    ))
    .await;
    let dry = format!("{counted}/status?dryRun=All");
    run.step(
        "smaller: active",
        Ask::merge(&dry, json!({"status": {"active": 0}})),
    )
    .await;
    run.step(
        "smaller: failed indexes",
        Ask::merge(&dry, json!({"status": {"failedIndexes": "3"}})),
    )
    .await;
}
