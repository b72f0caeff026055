use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::Job,
    core::v1::{Pod, ReplicationController},
};
use serde_json::{Value, json};

use super::{check, condition, failed, not_ready, template, with};
use crate::resource::Readiness::Ready;

fn workload(more: Value) -> Value {
    let base = json!({
        "replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template(),
    });
    with(&base, more)
}

#[test]
fn a_deployment_is_ready_when_all_replicas_are_new_and_available() {
    let spec = workload(json!({"progressDeadlineSeconds": 600}));
    let available = condition("Available", "True", "MinimumReplicasAvailable", "");
    let complete = condition("Progressing", "True", "NewReplicaSetAvailable", "");
    let full = json!({
        "observedGeneration": 3, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3,
        "availableReplicas": 3, "conditions": [complete, available],
    });
    let check = |spec: &Value, status: Value, expected| {
        check::<Deployment>(spec.clone(), status, expected);
    };
    check(&spec, full.clone(), Ready);
    check(&spec, json!({}), not_ready("0 of 3 replicas exist"));
    for (change, reason) in [
        (json!({"replicas": 2}), "2 of 3 replicas exist"),
        (json!({"updatedReplicas": 1}), "1 of 3 replicas are updated"),
        (json!({"replicas": 5}), "2 old replicas still exist"),
        (
            json!({"availableReplicas": 2}),
            "2 of 3 replicas are available",
        ),
        (json!({"readyReplicas": 2}), "2 of 3 replicas are ready"),
        (
            json!({"observedGeneration": 2}),
            "its controller has seen generation 2, not yet 3",
        ),
        (
            json!({"conditions": [available]}),
            "the new ReplicaSet is not available yet",
        ),
        (
            json!({"conditions": [condition("Progressing", "True", "ReplicaSetUpdated", ""), available]}),
            "the new ReplicaSet is not available yet",
        ),
        (
            json!({"conditions": [complete]}),
            "it has no condition Available yet",
        ),
        (
            json!({"conditions": [complete, condition("Available", "False", "MinimumReplicasUnavailable", "too few")]}),
            "MinimumReplicasUnavailable: too few",
        ),
    ] {
        check(&spec, with(&full, change), not_ready(reason));
    }
    // The deadline counts even if all counts are right.
    let late = condition("Progressing", "False", "ProgressDeadlineExceeded", "stuck");
    let status = with(&full, json!({"conditions": [late, available]}));
    check(&spec, status, failed("ProgressDeadlineExceeded: stuck"));
    // Without a deadline, or with the largest one, the progress is not reported.
    let silent = with(&full, json!({"conditions": [available]}));
    check(&workload(json!({})), silent.clone(), Ready);
    let largest = json!({"progressDeadlineSeconds": i32::MAX});
    check(&workload(largest), silent.clone(), Ready);
    // One replica is the default.
    let mut one = workload(json!({}));
    one["replicas"] = Value::Null;
    check(&one, json!({}), not_ready("0 of 1 replicas exist"));
    let none = json!({"observedGeneration": 3, "conditions": [available]});
    check(&workload(json!({"replicas": 0})), none, Ready);
}

#[test]
fn a_stateful_set_is_ready_when_its_revision_is_complete() {
    let full = json!({
        "observedGeneration": 3, "replicas": 3, "readyReplicas": 3, "currentReplicas": 3,
        "updatedReplicas": 3, "currentRevision": "a-1", "updateRevision": "a-1",
    });
    let check = |more: Value, status: Value, expected| {
        let spec = with(&workload(json!({"serviceName": "a"})), more);
        check::<StatefulSet>(spec, status, expected);
    };
    check(json!({}), full.clone(), Ready);
    check(
        json!({}),
        json!({"replicas": 0}),
        not_ready("0 of 3 replicas exist"),
    );
    for (change, reason) in [
        (json!({"readyReplicas": 1}), "1 of 3 replicas are ready"),
        (json!({"replicas": 4}), "1 old replicas still exist"),
        (
            json!({"currentReplicas": 2}),
            "2 of 3 replicas are of the current revision",
        ),
        (
            json!({"updateRevision": "a-2"}),
            "the new revision is not complete",
        ),
        (
            json!({"observedGeneration": 1}),
            "its controller has seen generation 1, not yet 3",
        ),
    ] {
        check(json!({}), with(&full, change), not_ready(reason));
    }
    // With a partition only the replicas from there on are updated.
    let partition = |number| {
        let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": number}});
        json!({"updateStrategy": rolling})
    };
    let partly = json!({"updatedReplicas": 1, "currentReplicas": 2, "updateRevision": "a-2"});
    let partly = with(&full, partly);
    check(partition(2), partly.clone(), Ready);
    check(
        partition(1),
        partly.clone(),
        not_ready("1 of 2 replicas are updated"),
    );
    check(
        partition(0),
        partly.clone(),
        not_ready("1 of 3 replicas are updated"),
    );
    check(partition(5), partly.clone(), Ready);
    // Somebody deletes the Pods by hand, but they must be ready.
    let by_hand = json!({"updateStrategy": {"type": "OnDelete"}});
    check(by_hand.clone(), partly, Ready);
    check(
        by_hand,
        json!({"replicas": 3}),
        not_ready("0 of 3 replicas are ready"),
    );
}

#[test]
fn a_daemon_set_is_ready_when_each_chosen_node_has_a_new_pod() {
    let full = json!({
        "observedGeneration": 3, "desiredNumberScheduled": 2, "currentNumberScheduled": 2,
        "updatedNumberScheduled": 2, "numberAvailable": 2, "numberReady": 2, "numberMisscheduled": 0,
    });
    let check = |more: Value, status: Value, expected| {
        let mut spec = workload(more);
        spec.as_object_mut().unwrap().remove("replicas");
        check::<DaemonSet>(spec, status, expected);
    };
    check(json!({}), full.clone(), Ready);
    let unseen = json!({
        "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
    });
    check(
        json!({}),
        unseen,
        not_ready("its controller has not seen it yet"),
    );
    for (change, reason) in [
        (
            json!({"currentNumberScheduled": 1}),
            "1 of 2 replicas exist",
        ),
        (
            json!({"updatedNumberScheduled": 0}),
            "0 of 2 replicas are updated",
        ),
        (
            json!({"numberAvailable": 1}),
            "1 of 2 replicas are available",
        ),
        (json!({"numberReady": 1}), "1 of 2 replicas are ready"),
        (
            json!({"observedGeneration": 2}),
            "its controller has seen generation 2, not yet 3",
        ),
    ] {
        check(json!({}), with(&full, change), not_ready(reason));
    }
    let by_hand = json!({"updateStrategy": {"type": "OnDelete"}});
    check(
        by_hand,
        with(&full, json!({"updatedNumberScheduled": 0})),
        Ready,
    );
    let no_nodes = json!({"desiredNumberScheduled": 0, "currentNumberScheduled": 0});
    check(json!({}), with(&full, no_nodes), Ready);
}

#[test]
fn a_replica_set_is_ready_when_its_replicas_are_labelled_available_and_ready() {
    let full = json!({
        "observedGeneration": 3, "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 3,
        "availableReplicas": 3,
    });
    let cases = [
        (json!({}), Ready),
        (
            json!({"fullyLabeledReplicas": 1}),
            not_ready("1 of 3 replicas have the labels of the template"),
        ),
        (
            json!({"availableReplicas": 2}),
            not_ready("2 of 3 replicas are available"),
        ),
        (
            json!({"readyReplicas": 2}),
            not_ready("2 of 3 replicas are ready"),
        ),
        (
            json!({"replicas": 4}),
            not_ready("1 old replicas still exist"),
        ),
        (
            json!({"conditions": [condition("ReplicaFailure", "True", "FailedCreate", "quota")]}),
            not_ready("FailedCreate: quota"),
        ),
        (
            json!({"conditions": [condition("ReplicaFailure", "False", "", "")]}),
            Ready,
        ),
    ];
    for (change, expected) in cases {
        let status = with(&full, change);
        check::<ReplicaSet>(workload(json!({})), status.clone(), expected.clone());
        let spec = json!({"replicas": 3, "selector": {"app": "a"}, "template": template()});
        check::<ReplicationController>(spec, status, expected);
    }
    check::<ReplicaSet>(
        workload(json!({})),
        json!({"replicas": 0}),
        not_ready("0 of 3 replicas have the labels of the template"),
    );
}

/// The status of a container that waits.
fn waits(name: &str, reason: &str) -> Value {
    json!({
        "name": name, "image": "a", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": reason}},
    })
}

#[test]
fn a_pod_is_ready_by_its_condition_and_has_failed_in_a_crash_loop() {
    let spec = json!({"containers": [{"name": "a", "image": "a"}]});
    let unready = condition("Ready", "False", "ContainersNotReady", "web");
    let crash = waits("web", "CrashLoopBackOff");
    let unscheduled = condition("PodScheduled", "False", "Unschedulable", "0/3 nodes");
    let cases = [
        (
            json!({}),
            not_ready("its node has not reported a phase yet"),
        ),
        (json!({"phase": "Succeeded"}), Ready),
        (
            json!({"phase": "Failed", "reason": "Evicted", "message": "too little memory"}),
            failed("its phase is Failed: Evicted: too little memory"),
        ),
        (json!({"phase": "Failed"}), failed("its phase is Failed")),
        (
            json!({"phase": "Running", "conditions": [condition("Ready", "True", "", "")]}),
            Ready,
        ),
        (
            json!({"phase": "Running", "conditions": [unready]}),
            not_ready("ContainersNotReady: web"),
        ),
        (
            json!({"phase": "Running"}),
            not_ready("its phase is Running"),
        ),
        (
            json!({"phase": "Running", "conditions": [unready], "containerStatuses": [crash]}),
            failed("the container web waits: CrashLoopBackOff"),
        ),
        // Ready in spite of a container that crashes, such as a sidecar without readiness.
        (
            json!({
                "phase": "Running", "containerStatuses": [crash],
                "conditions": [condition("Ready", "True", "", "")],
            }),
            Ready,
        ),
        (
            json!({"phase": "Pending"}),
            not_ready("its phase is Pending"),
        ),
        (
            json!({"phase": "Pending", "conditions": [unscheduled]}),
            not_ready("Unschedulable: 0/3 nodes"),
        ),
        (
            json!({"phase": "Pending", "containerStatuses": [waits("web", "ImagePullBackOff")]}),
            not_ready("the container web waits: ImagePullBackOff"),
        ),
        (
            json!({"phase": "Pending", "containerStatuses": [waits("web", "ContainerCreating")]}),
            not_ready("its phase is Pending"),
        ),
        // It may still begin.
        (
            json!({"phase": "Pending", "initContainerStatuses": [waits("init", "CrashLoopBackOff")]}),
            not_ready("the container init waits: CrashLoopBackOff"),
        ),
    ];
    for (status, expected) in cases {
        check::<Pod>(spec.clone(), status, expected);
    }
}

#[test]
fn a_job_is_ready_when_it_is_complete() {
    let spec = json!({"completions": 2, "template": template()});
    let started =
        json!({"startTime": "2026-01-01T00:00:00Z", "succeeded": 1, "active": 1, "failed": 3});
    let holds = |kind: &str| {
        let conditions = json!([condition(kind, "True", "Reason", "text")]);
        with(&started, json!({"conditions": conditions}))
    };
    let runs = "it runs: 1 of 2 Pods have succeeded, 1 are active, 3 have failed";
    for (status, expected) in [
        (json!({}), not_ready("it has not started")),
        (started.clone(), not_ready(runs)),
        (holds("Complete"), Ready),
        (holds("Failed"), failed("Reason: text")),
        (holds("Suspended"), not_ready("it is suspended")),
        // The Pods are still being counted.
        (holds("SuccessCriteriaMet"), not_ready(runs)),
    ] {
        check::<Job>(spec.clone(), status, expected);
    }
}

#[test]
fn numbers_that_no_api_server_stores_do_not_overflow() {
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "a", "namespace": "default", "generation": 1},
        "spec": {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": i64::MIN}}},
        "status": {
            "observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 1,
        },
    });
    let object: crate::resource::DynamicObject = serde_json::from_value(object).unwrap();
    let reason = "1 of 9223372036854775807 replicas are updated";
    assert_eq!(
        crate::resource::HasReadiness::readiness(&object),
        not_ready(reason)
    );
}
