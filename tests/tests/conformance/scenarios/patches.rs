//! JSON patches, merge patches and strategic merge patches.

use serde_json::{Value, json};

use super::gadget::{GADGETS, gadget, install};
use crate::run::{Ask, Run};

/// Returns a Deployment named `name`.
pub(crate) fn workload(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [
                    {"name": "one", "image": "one:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "ports": [{"containerPort": 80}]},
                    {"name": "two", "image": "two:1"},
                ]},
            },
        },
    })
}

fn containers(containers: Value) -> Value {
    json!({"spec": {"template": {"spec": {"containers": containers}}}})
}

pub(crate) async fn deployment(run: &mut Run) {
    let path = run.path("apps/v1/deployments");
    run.step("create", Ask::post(&path, workload("a"))).await;
    let one = format!("{path}/a");
    for (step, patch) in [
        (
            "strategic: a container's image",
            containers(json!([{"name": "two", "image": "two:2"}])),
        ),
        (
            "strategic: a new container",
            containers(json!([{"name": "three", "image": "three:1"}])),
        ),
        (
            "strategic: without key",
            containers(json!([{"image": "x"}])),
        ),
        (
            "strategic: delete a container",
            containers(json!([{"name": "three", "$patch": "delete"}])),
        ),
        (
            "strategic: environment",
            containers(
                json!([{"name": "one", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]}]),
            ),
        ),
        (
            "strategic: delete a variable",
            containers(json!([{"name": "one", "env": [{"name": "A", "$patch": "delete"}]}])),
        ),
        (
            "strategic: order",
            containers(
                json!([{"name": "one", "env": [{"name": "C"}, {"name": "B"}], "$setElementOrder/env": [{"name": "C"}, {"name": "B"}]}]),
            ),
        ),
        (
            "strategic: order of containers",
            json!({"spec": {"template": {"spec": {"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}], "containers": [{"name": "one"}]}}}}),
        ),
        (
            "strategic: finalizers",
            json!({"metadata": {"finalizers": ["pilothouse.dev/x"]}}),
        ),
        (
            "strategic: another finalizer",
            json!({"metadata": {"finalizers": ["pilothouse.dev/y"]}}),
        ),
        (
            "strategic: take out of a list",
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["pilothouse.dev/x", "pilothouse.dev/y"]}}),
        ),
        (
            "strategic: replace a map",
            json!({"metadata": {"labels": {"$patch": "replace", "app": "a", "new": "1"}}}),
        ),
        (
            "strategic: delete a key",
            json!({"metadata": {"labels": {"new": null}}}),
        ),
        (
            "strategic: retain keys",
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
        ),
        (
            "strategic: strategy with leftovers",
            json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}}}),
        ),
        (
            "strategic: unknown directive",
            json!({"metadata": {"labels": {"$patch": "explode"}}}),
        ),
        (
            "strategic: wrong type",
            json!({"spec": {"replicas": "many"}}),
        ),
        ("strategic: nothing", json!({})),
    ] {
        run.step(step, Ask::strategic(&one, patch)).await;
    }
    for (step, patch) in [
        (
            "merge: the list is replaced",
            containers(json!([{"name": "only", "image": "only:1"}])),
        ),
        (
            "merge: null removes",
            json!({"spec": {"strategy": null, "replicas": null}}),
        ),
        (
            "merge: selector is immutable",
            json!({"spec": {"selector": {"matchLabels": {"app": "b"}}}}),
        ),
        (
            "merge: template does not match",
            json!({"spec": {"template": {"metadata": {"labels": {"app": "b"}}}}}),
        ),
        (
            "merge: several errors",
            json!({"spec": {"replicas": -1, "minReadySeconds": -1, "template": {"spec": {"restartPolicy": "Never", "containers": []}}}}),
        ),
        (
            "merge: bad container",
            containers(
                json!([{"name": "Bad_Name", "image": " ", "imagePullPolicy": "Perhaps", "ports": [{"containerPort": 70000}]}]),
            ),
        ),
        (
            "merge: bad resources",
            containers(
                json!([{"name": "a", "image": "a", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]),
            ),
        ),
        (
            "merge: bad quantity",
            containers(
                json!([{"name": "a", "image": "a", "resources": {"limits": {"cpu": "lots"}}}]),
            ),
        ),
        (
            "merge: bad label",
            json!({"metadata": {"labels": {"a b": "c d"}}}),
        ),
        (
            "merge: another name",
            json!({"metadata": {"name": "other"}}),
        ),
        (
            "merge: another namespace",
            json!({"metadata": {"namespace": "other"}}),
        ),
        ("merge: another uid", json!({"metadata": {"uid": "other"}})),
        ("merge: another kind", json!({"kind": "ReplicaSet"})),
        (
            "merge: status is left alone",
            json!({"status": {"replicas": 7}}),
        ),
        ("merge: no object", json!([1])),
    ] {
        run.step(step, Ask::merge(&one, patch)).await;
    }
    for (step, patch) in [
        (
            "json: test passes",
            json!([{"op": "test", "path": "/metadata/name", "value": "a"}, {"op": "replace", "path": "/spec/minReadySeconds", "value": 3}]),
        ),
        (
            "json: add to absent",
            json!([{"op": "add", "path": "/spec/none/x", "value": 3}]),
        ),
        (
            "json: test fails",
            json!([{"op": "test", "path": "/metadata/name", "value": "b"}]),
        ),
        (
            "json: remove absent",
            json!([{"op": "remove", "path": "/spec/none"}]),
        ),
        (
            "json: replace absent",
            json!([{"op": "replace", "path": "/spec/none", "value": 1}]),
        ),
        (
            "json: add and copy and move",
            json!([{"op": "add", "path": "/metadata/annotations", "value": {"a~/b": "1"}}, {"op": "copy", "from": "/metadata/annotations/a~0~1b", "path": "/metadata/annotations/c"}, {"op": "move", "from": "/metadata/annotations/c", "path": "/metadata/annotations/d"}]),
        ),
        (
            "json: append",
            json!([{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "last", "image": "l"}}]),
        ),
        (
            "json: insert",
            json!([{"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "first", "image": "f"}}]),
        ),
        (
            "json: index out of range",
            json!([{"op": "remove", "path": "/spec/template/spec/containers/9"}]),
        ),
        (
            "json: unknown operation",
            json!([{"op": "explode", "path": "/spec"}]),
        ),
        ("json: no list", json!({"op": "remove", "path": "/spec"})),
        ("json: no path", json!([{"op": "remove"}])),
        ("json: nothing", json!([])),
    ] {
        run.step(step, Ask::json(&one, patch)).await;
    }
    let patch = json!({"metadata": {"annotations": {"x": "y"}}});
    run.step("absent", Ask::merge(format!("{path}/none"), patch.clone()))
        .await;
    run.step(
        "unknown patch type",
        Ask::patch(&one, "application/json", patch.clone()),
    )
    .await;
    run.step(
        "stale version",
        Ask::merge(
            &one,
            json!({"metadata": {"resourceVersion": "1", "labels": {"z": "z"}}}),
        ),
    )
    .await;
    run.step(
        "dry run",
        Ask::merge(format!("{one}?dryRun=All"), patch.clone()),
    )
    .await;
    run.step(
        "force without apply",
        Ask::merge(format!("{one}?force=true"), patch.clone()),
    )
    .await;
    run.step(
        "with a manager",
        Ask::merge(format!("{one}?fieldManager=someone"), patch),
    )
    .await;
    let long = "m".repeat(129);
    run.step(
        "with a long manager",
        Ask::merge(format!("{one}?fieldManager={long}"), json!({})),
    )
    .await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"ports": [{"name": "http", "port": 80}, {"name": "dns-u", "port": 53, "protocol": "UDP"}], "selector": {"app": "a"}},
    });
    let services = run.path("v1/services");
    let made = run.send_unrecorded(Ask::post(&services, service)).await;
    run.record("service: ports", made.body["spec"]["ports"].clone());
    let patch = json!({"spec": {"ports": [{"port": 53, "targetPort": 5353, "protocol": "UDP"}, {"name": "new", "port": 8080}]}});
    let patched = run
        .send_unrecorded(Ask::strategic(format!("{services}/s"), patch))
        .await;
    run.record(
        "service: patched ports",
        patched.body["spec"]["ports"].clone(),
    );
}

pub(crate) async fn custom(run: &mut Run) {
    install(run).await;
    let path = run.path(GADGETS);
    let object = gadget(
        "a",
        json!({"items": [{"name": "a"}], "labels": {"a": "1", "b": "2"}}),
    );
    run.step("create", Ask::post(&path, object)).await;
    let one = format!("{path}/a");
    run.step("strategic", Ask::strategic(&one, json!({"spec": {}})))
        .await;
    for (step, patch) in [
        ("merge", json!({"spec": {"labels": {"a": null, "c": "3"}}})),
        ("merge: invalid", json!({"spec": {"replicas": 500}})),
        (
            "merge: remove what has a default",
            json!({"spec": {"replicas": null}}),
        ),
        (
            "merge: remove what is required",
            json!({"spec": {"mode": null}}),
        ),
        ("merge: a list", json!({"spec": {"items": [{"name": "b"}]}})),
        ("merge: nothing", json!({"spec": {"mode": "fast"}})),
        ("merge: no kind", json!({"kind": null})),
        (
            "merge: another version",
            json!({"apiVersion": "conformance.pilothouse.dev/v2"}),
        ),
        (
            "merge: bad metadata",
            json!({"metadata": {"labels": {"a": 5}}}),
        ),
        (
            "merge: finalizer without domain",
            json!({"metadata": {"finalizers": ["x"]}}),
        ),
        (
            "merge: owner without uid",
            json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}}),
        ),
    ] {
        run.step(step, Ask::merge(&one, patch)).await;
    }
    for (step, patch) in [
        (
            "json",
            json!([{"op": "add", "path": "/spec/items/-", "value": {"name": "c"}}]),
        ),
        (
            "json: fails",
            json!([{"op": "remove", "path": "/spec/none"}]),
        ),
        (
            "json: test fails",
            json!([{"op": "test", "path": "/spec/mode", "value": "slow"}]),
        ),
    ] {
        run.step(step, Ask::json(&one, patch)).await;
    }
    run.step("absent", Ask::merge(format!("{path}/none"), json!({})))
        .await;
}
