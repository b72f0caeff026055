//! What admission adds to objects and refuses: tolerations, priorities and default classes.

use serde_json::{Value, json};

use crate::run::{Ask, Run};

const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
const STORAGE: &str = "/apis/storage.k8s.io/v1/storageclasses";
const INGRESS: &str = "/apis/networking.k8s.io/v1/ingressclasses";

/// A Pod without the token of its service account, which the sandbox adds only with the simulator.
pub(super) fn pod(name: &str, fields: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "automountServiceAccountToken": false, "serviceAccountName": "default",
            "containers": [{"name": "one", "image": "one:1"}],
        },
    });
    for (field, value) in fields.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    pod
}

fn class(name: &str, is_default: bool) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": name}, "value": 7, "globalDefault": is_default, "preemptionPolicy": "Never",
    })
}

pub(crate) async fn of_pods(run: &mut Run) {
    let path = run.path("v1/pods");
    let account = json!({"metadata": {"name": "default"}});
    let account = Ask::post(run.path("v1/serviceaccounts"), account);
    run.until(account, |answer| matches!(answer.code, 201 | 409))
        .await;

    let toleration = |key: &str, effect: &str| json!({"tolerations": [{"key": key, "operator": "Exists", "effect": effect}]});
    let classes = [
        "pilothouse-plain",
        "pilothouse-default",
        "pilothouse-second",
    ];
    run.step("class", Ask::post(CLASSES, class(classes[0], false)))
        .await;
    for (name, fields) in [
        ("plain", json!({})),
        (
            "one",
            toleration("node.kubernetes.io/unreachable", "NoExecute"),
        ),
        (
            "other-effect",
            toleration("node.kubernetes.io/unreachable", "NoSchedule"),
        ),
        ("any-effect", toleration("node.kubernetes.io/not-ready", "")),
        ("all", json!({"tolerations": [{"operator": "Exists"}]})),
        (
            "critical",
            json!({"priorityClassName": "system-node-critical"}),
        ),
        (
            "cluster",
            json!({"priorityClassName": "system-cluster-critical"}),
        ),
        ("class", json!({"priorityClassName": classes[0]})),
        (
            "class-and-value",
            json!({"priorityClassName": classes[0], "priority": 7}),
        ),
        (
            "class-and-other-value",
            json!({"priorityClassName": classes[0], "priority": 8}),
        ),
        ("value", json!({"priority": 1})),
        ("zero", json!({"priority": 0})),
        ("policy", json!({"preemptionPolicy": "Never"})),
        ("unknown", json!({"priorityClassName": "pilothouse-none"})),
        (
            "unknown-and-invalid",
            json!({"priorityClassName": "pilothouse-none", "containers": []}),
        ),
    ] {
        run.step(name, Ask::post(&path, pod(name, &fields))).await;
    }
    let mut generated = pod("", &json!({"priorityClassName": "pilothouse-none"}));
    generated["metadata"] = json!({"generateName": "some-"});
    run.step("a generated name", Ask::post(&path, generated))
        .await;
    // The replace leaves out what admission has added.
    let replace = Ask::put(
        format!("{path}/class"),
        pod("class", &json!({"priorityClassName": classes[0]})),
    );
    run.step("replace", replace).await;
    let other = Ask::put(
        format!("{path}/class"),
        pod(
            "class",
            &json!({"priorityClassName": classes[0], "priority": 9}),
        ),
    );
    run.step("replace with another priority", other).await;

    run.step("default class", Ask::post(CLASSES, class(classes[1], true)))
        .await;
    // A real server reads the other classes from a cache.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    run.step(
        "second default class",
        Ask::post(CLASSES, class(classes[2], true)),
    )
    .await;
    let note = json!({"description": "still the default"});
    let one = |name: &str| format!("{CLASSES}/{name}");
    run.step(
        "change of the default class",
        Ask::merge(one(classes[1]), note),
    )
    .await;
    let turn = json!({"globalDefault": true});
    run.step(
        "another becomes the default",
        Ask::merge(one(classes[0]), turn),
    )
    .await;
    // A real server learns of the class a moment later.
    let probe = Ask::post(format!("{path}?dryRun=All"), pod("probe", &json!({})));
    run.until(probe, |answer| answer.body["spec"]["priority"] == 7)
        .await;
    run.step(
        "of the default class",
        Ask::post(&path, pod("defaulted", &json!({}))),
    )
    .await;
    for class in classes {
        run.send_unrecorded(Ask::delete(one(class))).await;
    }
}

pub(crate) async fn of_claims(run: &mut Run) {
    let name = "pilothouse-default";
    let class = json!({
        "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "example.com/disk",
    });
    run.send_unrecorded(Ask::post(STORAGE, class)).await;
    let path = run.path("v1/persistentvolumeclaims");
    let claim = |name: &str, metadata: Value, class: Value| {
        let mut claim = json!({
            "metadata": metadata,
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        });
        claim["metadata"]["name"] = json!(name);
        if !class.is_null() {
            claim["spec"]["storageClassName"] = class;
        }
        claim
    };
    let probe = Ask::post(
        format!("{path}?dryRun=All"),
        claim("probe", json!({}), Value::Null),
    );
    run.until(probe, |answer| {
        answer.body["spec"]["storageClassName"] == name
    })
    .await;
    let old = json!({"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}});
    for (step, metadata, class) in [
        ("no class", json!({}), Value::Null),
        ("empty class", json!({}), json!("")),
        ("another class", json!({}), json!("another")),
        ("the old annotation", old, Value::Null),
    ] {
        let claim = claim(&step.replace(' ', "-"), metadata, class);
        let answer = run.send_unrecorded(Ask::post(&path, claim)).await;
        run.record(step, answer.body["spec"].clone());
    }
    run.send_unrecorded(Ask::delete(format!("{STORAGE}/{name}")))
        .await;
}

pub(crate) async fn of_ingresses(run: &mut Run) {
    let name = "pilothouse-default";
    let class = json!({
        "metadata": {"name": name, "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
        "spec": {"controller": "example.com/ingress"},
    });
    run.send_unrecorded(Ask::post(INGRESS, class)).await;
    let path = run.path("networking.k8s.io/v1/ingresses");
    let ingress = |name: &str, metadata: Value, class: Value| {
        let mut ingress = json!({
            "metadata": metadata,
            "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
        });
        ingress["metadata"]["name"] = json!(name);
        if !class.is_null() {
            ingress["spec"]["ingressClassName"] = class;
        }
        ingress
    };
    let probe = Ask::post(
        format!("{path}?dryRun=All"),
        ingress("probe", json!({}), Value::Null),
    );
    run.until(probe, |answer| {
        answer.body["spec"]["ingressClassName"] == name
    })
    .await;
    let old = json!({"annotations": {"kubernetes.io/ingress.class": "old"}});
    for (step, metadata, class) in [
        ("no class", json!({}), Value::Null),
        ("another class", json!({}), json!("another")),
        ("the old annotation", old, Value::Null),
    ] {
        let ingress = ingress(&step.replace(' ', "-"), metadata, class);
        run.step(step, Ask::post(&path, ingress)).await;
    }
    run.send_unrecorded(Ask::delete(format!("{INGRESS}/{name}")))
        .await;
}
