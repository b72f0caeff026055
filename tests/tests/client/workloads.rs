//! Workloads: the controllers of a real cluster and the sandbox's simulator lead to the same objects. The tests end the Pods
//! themselves, because no kubelet runs them beside the real API server.

use pilothouse::{
    client::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    k8s::api::{
        apps::v1::StatefulSet,
        batch::v1::Job,
        core::v1::{ConfigMap, PersistentVolumeClaim, Pod, ServiceAccount},
    },
    resource::Object,
};
use serde_json::{Value, json};

use crate::target::{Nodes, Target};

const TIME: &str = "2026-01-01T00:00:00Z";

/// Replaces all times by `TIME`.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                *field = match name.as_str() {
                    "startTime" | "completionTime" | "lastProbeTime" | "lastTransitionTime" => {
                        json!(TIME)
                    }
                    _ => timeless(field.take()),
                };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = timeless(item.take())),
        _ => {}
    }
    value
}

/// Lets the Pods of the namespace run until the test ends them.
fn hold_pods(target: &Target) {
    if let Nodes::Simulated(sandbox) = &target.nodes {
        sandbox.pods().all().in_namespace(&target.namespace).run();
    }
}

/// Creates a Job, ends as many Pods of it with an exit code, and returns the status of the finished Job.
async fn finished(target: &Target, name: &str, spec: Value, code: i32, ends: usize) -> Value {
    hold_pods(target);
    let mut job = json!({
        "metadata": {"name": name},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "containers": [{"name": "main", "image": "main"}],
        }}},
    });
    for (field, value) in spec.as_object().unwrap() {
        job["spec"][field] = value.clone();
    }
    let job: Job = serde_json::from_value(job).unwrap();
    let jobs = target.api::<Job>();
    jobs.create(&PostParams::default(), &job).await.unwrap();
    let pods = target.api::<Pod>();
    let of_job = ListParams::default().labels(format!("batch.kubernetes.io/job-name={name}"));
    let (mut ended, params) = (Vec::new(), PatchParams::default());
    while ended.len() < ends {
        let next = || async {
            let all = pods.list(&of_job).await.unwrap().items;
            all.into_iter().find(|pod| !ended.contains(&pod.name().to_owned()))
        };
        let pod = target.until("the Job has another Pod", next).await;
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        let state = json!({"terminated": {"exitCode": code, "startedAt": TIME, "finishedAt": TIME}});
        let main = json!({
            "name": "main", "image": "main", "imageID": "", "ready": false, "restartCount": 0, "state": state,
        });
        let status = json!({"status": {"phase": phase, "containerStatuses": [main]}});
        let patch = Patch::Merge(status);
        let patched = pods.patch_status(pod.name(), &params, &patch).await;
        patched.unwrap();
        ended.push(pod.name().to_owned());
    }
    let status = || async {
        let status = jobs.get(name).await.unwrap().status?;
        let mut conditions = status.conditions.iter().flatten();
        let done = conditions.any(|one| ["Complete", "Failed"].contains(&&*one.type_));
        done.then_some(status)
    };
    let status = target.until("the Job has finished", status).await;
    timeless(serde_json::to_value(status).unwrap())
}

fn condition(kind: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": "True", "reason": reason, "message": message,
        "lastProbeTime": TIME, "lastTransitionTime": TIME,
    })
}

pub(crate) async fn a_job_completes_with_its_pods(target: &Target) {
    let reached = "Reached expected number of succeeded pods";
    let conditions = [
        condition("SuccessCriteriaMet", "CompletionsReached", reached),
        condition("Complete", "CompletionsReached", reached),
    ];
    let mut expected = json!({
        "startTime": TIME, "completionTime": TIME, "succeeded": 2, "ready": 0, "terminating": 0,
        "uncountedTerminatedPods": {}, "conditions": conditions,
    });
    let status = finished(target, "two", json!({"completions": 2}), 0, 2).await;
    assert_eq!(status, expected);
    let indexed = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"});
    let status = finished(target, "indexed", indexed, 0, 3).await;
    expected["succeeded"] = json!(3);
    expected["completedIndexes"] = json!("0-2");
    assert_eq!(status, expected);
}

pub(crate) async fn a_job_fails_with_its_pods(target: &Target) {
    let expected = |failed: i32, reason: &str, message: &str| {
        let kinds = ["FailureTarget", "Failed"];
        json!({
            "startTime": TIME, "failed": failed, "ready": 0, "terminating": 0,
            "uncountedTerminatedPods": {}, "conditions": kinds.map(|kind| condition(kind, reason, message)),
        })
    };
    let status = finished(target, "bad", json!({"backoffLimit": 0}), 1, 1).await;
    let message = "Job has reached the specified backoff limit";
    assert_eq!(status, expected(1, "BackoffLimitExceeded", message));
    let per_index = json!({
        "completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 0,
    });
    let status = finished(target, "per-index", per_index, 1, 2).await;
    let mut all = expected(2, "FailedIndexes", "Job has failed indexes");
    all["failedIndexes"] = json!("0,1");
    assert_eq!(status, all);
    let codes = json!({"operator": "In", "values": [42]});
    let policy = json!({"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": codes}]}});
    let status = finished(target, "policy", policy, 42, 1).await;
    let message = status["conditions"][0]["message"].as_str().unwrap();
    assert!(message.ends_with(" failed with exit code 42 matching FailJob rule at index 0"));
    assert_eq!(status, expected(1, "PodFailurePolicy", message));
}

pub(crate) async fn a_stateful_set_starts_its_pods_with_their_claims(target: &Target) {
    let labels = json!({"app": "db"});
    let mount = json!({"name": "data", "mountPath": "/data"});
    let set: StatefulSet = serde_json::from_value(json!({
        "metadata": {"name": "db"},
        "spec": {
            "replicas": 2,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "automountServiceAccountToken": false,
                "containers": [{"name": "main", "image": "main", "volumeMounts": [mount]}],
            }},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            }}],
        },
    }))
    .unwrap();
    let (sets, pods) = (target.api::<StatefulSet>(), target.api::<Pod>());
    sets.create(&PostParams::default(), &set).await.unwrap();
    for name in ["db-0", "db-1"] {
        let there = || async { pods.get_opt(name).await.unwrap() };
        let pod = target.until("the Pod exists", there).await;
        let spec = pod.spec.unwrap();
        assert_eq!((spec.hostname.as_deref(), spec.subdomain.as_deref()), (Some(name), Some("db")));
        let labels = pod.metadata.labels.unwrap();
        assert_eq!(labels["statefulset.kubernetes.io/pod-name"], name);
        assert_eq!(labels["apps.kubernetes.io/pod-index"], name[3..]);
        let volume = &spec.volumes.unwrap()[0];
        let claim = format!("data-{name}");
        assert_eq!(volume.persistent_volume_claim.as_ref().unwrap().claim_name, claim);
        let claim = target.api::<PersistentVolumeClaim>().get(&claim).await.unwrap();
        assert_eq!(claim.metadata.labels.unwrap()["app"], "db");
        assert!(claim.metadata.owner_references.is_none());
        if !matches!(target.nodes, Nodes::Simulated(_)) {
            let ready = json!({"type": "Ready", "status": "True"});
            let status = json!({"status": {"phase": "Running", "conditions": [ready]}});
            let (params, patch) = (PatchParams::default(), Patch::Merge(status));
            pods.patch_status(name, &params, &patch).await.unwrap();
        }
    }
    let ready = || async {
        let status = sets.get("db").await.unwrap().status?;
        (status.ready_replicas == Some(2)).then_some(status)
    };
    let status = target.until("the set is ready", ready).await;
    assert_eq!(status.current_revision, status.update_revision);
    let revision = status.current_revision.clone().unwrap();
    let expected = json!({
        "observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        "currentReplicas": 2, "updatedReplicas": 2, "collisionCount": 0,
        "currentRevision": revision, "updateRevision": revision,
    });
    assert_eq!(serde_json::to_value(status).unwrap(), expected);
}

pub(crate) async fn a_pod_gets_the_token_of_the_default_service_account(target: &Target) {
    let accounts = target.api::<ServiceAccount>();
    let account = || async { accounts.get_opt("default").await.unwrap() };
    let first = target.until("the namespace has its account", account).await;
    let (name, maps) = ("kube-root-ca.crt", target.api::<ConfigMap>());
    let authority = || async { maps.get_opt(name).await.unwrap() };
    let map = target.until("the namespace has the certificate authority", authority).await;
    assert!(map.data.unwrap()["ca.crt"].starts_with("-----BEGIN CERTIFICATE-----"));
    let pod = json!({
        "metadata": {"name": "one"}, "spec": {"containers": [{"name": "main", "image": "main"}]},
    });
    let pod = serde_json::from_value(pod).unwrap();
    let pod = target.api::<Pod>().create(&PostParams::default(), &pod).await.unwrap();
    let spec = serde_json::to_value(pod.spec).unwrap();
    assert_eq!(spec["serviceAccountName"], "default");
    let volume = &spec["volumes"][0]["name"];
    assert!(volume.as_str().unwrap().starts_with("kube-api-access-"));
    let sources = json!([
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": name, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]);
    let expected = json!({"name": volume, "projected": {"defaultMode": 420, "sources": sources}});
    assert_eq!(spec["volumes"], json!([expected]));
    let path = "/var/run/secrets/kubernetes.io/serviceaccount";
    let mount = json!({"name": volume, "readOnly": true, "mountPath": path});
    assert_eq!(spec["containers"][0]["volumeMounts"], json!([mount]));
    accounts.delete("default", &DeleteParams::default()).await.unwrap();
    let again = || async { account().await.filter(|account| account.uid() != first.uid()) };
    target.until("the account is there again", again).await;
}
