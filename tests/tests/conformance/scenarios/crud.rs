//! Create, update and delete objects.

use serde_json::{Value, json};

use super::{
    gadget::{GADGETS, gadget, install},
    patches::workload,
};
use crate::run::{Ask, Run};

pub(super) fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

/// The kinds of workloads, of roles and of nodes that have no file in `kinds/`. Objects of the cluster have a name that no other scenario uses.
fn others(run: &Run) -> Vec<(&'static str, String, Value)> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let labels = json!({"a": "b"});
    let spec = json!({"containers": [{"name": "a", "image": "a"}]});
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    // The admission of a real server adds the last fields; that of the sandbox only with the simulator.
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": labels}, "spec": spec,
    });
    pod["spec"]["automountServiceAccountToken"] = false.into();
    pod["spec"]["serviceAccountName"] = "default".into();
    let reference = |kind: &str| json!({"apiGroup": RBAC, "kind": kind, "name": "a"});
    let subjects = json!([{"kind": "User", "name": "ann"}]);
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    vec![
        ("pod", run.path("v1/pods"), pod),
        (
            "replication controller",
            run.path("v1/replicationcontrollers"),
            json!({"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "a"}, "spec": {"replicas": 0, "selector": labels, "template": template}}),
        ),
        (
            "replica set",
            run.path("apps/v1/replicasets"),
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "a"}, "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}}),
        ),
        (
            "revision",
            run.path("apps/v1/controllerrevisions"),
            json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"}, "data": {"a": [1, {"b": "c"}]}, "revision": 1}),
        ),
        (
            "newer event",
            run.path("events.k8s.io/v1/events"),
            json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a"}, "regarding": {"kind": "Pod", "name": "p", "namespace": run.namespace}, "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "example.com/c", "reportingInstance": "i", "action": "A", "reason": "R", "note": "N", "type": "Normal"}),
        ),
        (
            "budget",
            run.path("policy/v1/poddisruptionbudgets"),
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}}),
        ),
        (
            "role binding",
            run.path("rbac.authorization.k8s.io/v1/rolebindings"),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "a"}, "roleRef": reference("Role"), "subjects": subjects}),
        ),
        (
            "cluster role",
            format!("/apis/{RBAC}/v1/clusterroles"),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "conformance-crud"}, "rules": rules}),
        ),
        (
            "cluster role binding",
            format!("/apis/{RBAC}/v1/clusterrolebindings"),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "conformance-crud"}, "roleRef": reference("ClusterRole"), "subjects": subjects}),
        ),
        (
            "node",
            "/api/v1/nodes".into(),
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "conformance-crud"}, "spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}}),
        ),
    ]
}

pub(crate) async fn objects(run: &mut Run) {
    install(run).await;
    // A Pod needs it.
    let accounts = run.path("v1/serviceaccounts");
    let account = json!({"metadata": {"name": "default"}});
    run.until(Ask::post(accounts, account), |answer| {
        matches!(answer.code, 201 | 409)
    })
    .await;
    for (kind, path, object) in [
        ("map", run.path("v1/configmaps"), map("a")),
        (
            "gadget",
            run.path(GADGETS),
            gadget("a", json!({"unknown": 1})),
        ),
        ("deployment", run.path("apps/v1/deployments"), workload("a")),
        (
            "secret",
            run.path("v1/secrets"),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "YQ=="}, "stringData": {"b": "b"}}),
        ),
        (
            "account",
            run.path("v1/serviceaccounts"),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}),
        ),
        (
            "lease",
            run.path("coordination.k8s.io/v1/leases"),
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.500000Z"}}),
        ),
        (
            "role",
            run.path("rbac.authorization.k8s.io/v1/roles"),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        (
            "job",
            run.path("batch/v1/jobs"),
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}}),
        ),
        (
            "cron job",
            run.path("batch/v1/cronjobs"),
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": {"schedule": "* * * * *", "suspend": true, "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}}}}),
        ),
        (
            "stateful set",
            run.path("apps/v1/statefulsets"),
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"}, "spec": {"replicas": 0, "serviceName": "a", "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}}}),
        ),
        (
            "stateful set with a claim template",
            run.path("apps/v1/statefulsets"),
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"}, "spec": {"replicas": 0, "serviceName": "a", "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a", "volumeMounts": [{"name": "www", "mountPath": "/www"}]}]}}, "volumeClaimTemplates": [{"metadata": {"name": "www"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}),
        ),
        (
            "daemon set",
            run.path("apps/v1/daemonsets"),
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a:latest"}]}}}}),
        ),
        (
            "service",
            run.path("v1/services"),
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80}]}}),
        ),
        (
            "claim",
            run.path("v1/persistentvolumeclaims"),
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
        ),
        (
            "event",
            run.path("v1/events"),
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": run.namespace}, "reason": "R", "message": "M", "type": "Normal", "count": 1, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "source": {"component": "c"}}),
        ),
    ]
    .into_iter()
    .chain(others(run))
    {
        let name = object["metadata"]["name"].as_str().unwrap();
        let one = format!("{path}/{name}");
        run.step(format!("{kind}: create"), Ask::post(&path, object.clone()))
            .await;
        run.step(format!("{kind}: again"), Ask::post(&path, object.clone()))
            .await;
        let read = run.step(format!("{kind}: get"), Ask::get(&one)).await;
        run.step(
            format!("{kind}: put the same"),
            Ask::put(&one, read.body.clone()),
        )
        .await;
        let unchanged = run.send_unrecorded(Ask::get(&one)).await;
        let same = unchanged.body["metadata"]["resourceVersion"]
            == read.body["metadata"]["resourceVersion"];
        run.record(format!("{kind}: nothing changed"), same.into());
        let again = run
            .send_unrecorded(Ask::put(&one, unchanged.body.clone()))
            .await
            .body;
        run.record(
            format!("{kind}: still nothing changed"),
            (again["metadata"]["resourceVersion"] == unchanged.body["metadata"]["resourceVersion"])
                .into(),
        );
        let mut labelled = unchanged.body.clone();
        labelled["metadata"]["labels"] = json!({"new": "label"});
        run.step(format!("{kind}: put"), Ask::put(&one, labelled.clone()))
            .await;
        run.step(format!("{kind}: put a stale one"), Ask::put(&one, labelled))
            .await;
        run.step(
            format!("{kind}: put without version"),
            Ask::put(&one, object),
        )
        .await;
        run.step(
            format!("{kind}: dry delete"),
            Ask::delete(format!("{one}?dryRun=All")),
        )
        .await;
        run.step(
            format!("{kind}: delete"),
            Ask::delete(format!("{one}?propagationPolicy=Background")),
        )
        .await;
        run.step(format!("{kind}: delete again"), Ask::delete(&one))
            .await;
        run.step(format!("{kind}: get again"), Ask::get(&one)).await;
    }
    let made = run
        .send_unrecorded(Ask::post(
            run.path("v1/configmaps"),
            json!({"metadata": {"generateName": "gen-"}}),
        ))
        .await;
    let name = made.body["metadata"]["name"].as_str().unwrap_or_default();
    run.record(
        "generated name",
        json!([
            made.code,
            made.body["metadata"]["generateName"],
            name.len(),
            name.starts_with("gen-")
        ]),
    );
    let path = run.path("v1/configmaps");
    run.step(
        "neither kind nor version",
        Ask::post(&path, json!({"metadata": {"name": "bare"}})),
    )
    .await;
    run.step(
        "collection",
        Ask::delete(format!("{path}?labelSelector=none%3Dnone")),
    )
    .await;
}

pub(crate) async fn finalizers(run: &mut Run) {
    install(run).await;
    for (kind, path, mut object) in [
        ("map", run.path("v1/configmaps"), map("a")),
        ("gadget", run.path(GADGETS), gadget("a", json!({}))),
        ("deployment", run.path("apps/v1/deployments"), workload("a")),
    ] {
        object["metadata"]["finalizers"] = json!(["pilothouse.dev/one", "pilothouse.dev/two"]);
        let one = format!("{path}/a");
        run.step(format!("{kind}: create"), Ask::post(&path, object.clone()))
            .await;
        run.step(format!("{kind}: delete"), Ask::delete(&one)).await;
        run.step(format!("{kind}: is there"), Ask::get(&one)).await;
        run.step(format!("{kind}: delete again"), Ask::delete(&one))
            .await;
        run.step(format!("{kind}: create again"), Ask::post(&path, object))
            .await;
        run.step(format!("{kind}: add one"), Ask::merge(&one, json!({"metadata": {"finalizers": ["pilothouse.dev/one", "pilothouse.dev/two", "pilothouse.dev/three"]}}))).await;
        run.step(
            format!("{kind}: change"),
            Ask::merge(&one, json!({"metadata": {"labels": {"a": "b"}}})),
        )
        .await;
        run.step(
            format!("{kind}: revive"),
            Ask::json(
                &one,
                json!([{"op": "remove", "path": "/metadata/deletionTimestamp"}]),
            ),
        )
        .await;
        run.step(
            format!("{kind}: remove one"),
            Ask::merge(
                &one,
                json!({"metadata": {"finalizers": ["pilothouse.dev/two"]}}),
            ),
        )
        .await;
        run.step(
            format!("{kind}: remove the last"),
            Ask::merge(&one, json!({"metadata": {"finalizers": null}})),
        )
        .await;
        run.step(format!("{kind}: is gone"), Ask::get(&one)).await;
    }
    let path = run.path("v1/configmaps");
    let mut bad = map("b");
    bad["metadata"]["finalizers"] = json!(["nodomain"]);
    run.step("a finalizer without domain", Ask::post(&path, bad.clone()))
        .await;
    bad["metadata"]["finalizers"] = json!(["a b/c"]);
    run.step("an invalid finalizer", Ask::post(&path, bad.clone()))
        .await;
    bad["metadata"]["finalizers"] = json!(["foregroundDeletion", "orphan"]);
    run.step("both of the collector", Ask::post(&path, bad))
        .await;
}

pub(crate) async fn preconditions(run: &mut Run) {
    install(run).await;
    for (kind, path, object) in [
        ("map", run.path("v1/configmaps"), map("a")),
        ("gadget", run.path(GADGETS), gadget("a", json!({}))),
    ] {
        let one = format!("{path}/a");
        run.send_unrecorded(Ask::post(&path, object.clone())).await;
        let delete = |options: Value| {
            let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
            for (key, value) in options.as_object().unwrap() {
                body[key] = value.clone();
            }
            Ask::delete(&one).body(body)
        };
        let other = "6c84fb90-12c4-11e1-840d-7b25c5ee775a";
        run.step(
            format!("{kind}: another uid"),
            delete(json!({"preconditions": {"uid": other}})),
        )
        .await;
        run.step(
            format!("{kind}: another version"),
            delete(json!({"preconditions": {"resourceVersion": "1"}})),
        )
        .await;
        run.step(
            format!("{kind}: unknown propagation"),
            delete(json!({"propagationPolicy": "Sideways"})),
        )
        .await;
        run.step(
            format!("{kind}: propagation twice"),
            delete(json!({"propagationPolicy": "Orphan", "orphanDependents": true})),
        )
        .await;
        run.step(
            format!("{kind}: negative grace"),
            delete(json!({"gracePeriodSeconds": -1, "dryRun": ["All"]})),
        )
        .await;
        run.step(
            format!("{kind}: unknown dry run"),
            delete(json!({"dryRun": ["Some"]})),
        )
        .await;
        run.step(
            format!("{kind}: put of another uid"),
            Ask::put(&one, {
                let mut object = object.clone();
                object["metadata"]["uid"] = other.into();
                object
            }),
        )
        .await;
        run.step(
            format!("{kind}: put of a stale version"),
            Ask::put(&one, {
                let mut object = object.clone();
                object["metadata"]["resourceVersion"] = "1".into();
                object["metadata"]["labels"] = json!({"a": "b"});
                object
            }),
        )
        .await;
        run.step(
            format!("{kind}: put of no version"),
            Ask::put(&one, {
                let mut object = object.clone();
                object["metadata"]["resourceVersion"] = "x".into();
                object
            }),
        )
        .await;
        run.step(
            format!("{kind}: put of an absent one"),
            Ask::put(format!("{path}/none"), {
                let mut object = object.clone();
                object["metadata"]["name"] = "none".into();
                object
            }),
        )
        .await;
        run.step(
            format!("{kind}: put of an absent one with uid"),
            Ask::put(format!("{path}/none"), {
                let mut object = object.clone();
                object["metadata"]["name"] = "none".into();
                object["metadata"]["uid"] = other.into();
                object
            }),
        )
        .await;
        run.step(
            format!("{kind}: put under another name"),
            Ask::put(format!("{path}/b"), object.clone()),
        )
        .await;
        run.step(
            format!("{kind}: create with a version"),
            Ask::post(&path, {
                let mut object = object.clone();
                object["metadata"]["resourceVersion"] = "5".into();
                object["metadata"]["name"] = "v".into();
                object
            }),
        )
        .await;
        run.step(
            format!("{kind}: foreground"),
            delete(json!({"propagationPolicy": "Foreground", "dryRun": ["All"]})),
        )
        .await;
        let live = run.send_unrecorded(Ask::get(&one)).await.body;
        let both = json!({"uid": live["metadata"]["uid"], "resourceVersion": live["metadata"]["resourceVersion"]});
        run.step(
            format!("{kind}: both hold"),
            delete(json!({"preconditions": both})),
        )
        .await;
    }
}

pub(crate) async fn garbage(run: &mut Run) {
    let path = run.path("v1/configmaps");
    for (policy, left) in [("Background", 404), ("Foreground", 404), ("Orphan", 200)] {
        let name = policy.to_lowercase();
        let owner = run.send_unrecorded(Ask::post(&path, map(&name))).await.body;
        let mut child = map(&format!("{name}-child"));
        child["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        }]);
        run.step(format!("{policy}: child"), Ask::post(&path, child))
            .await;
        run.step(
            format!("{policy}: delete"),
            Ask::delete(format!("{path}/{name}?propagationPolicy={policy}")),
        )
        .await;
        run.until(Ask::get(format!("{path}/{name}")), |answer| {
            answer.code == 404
        })
        .await;
        let child = format!("{path}/{name}-child");
        let after = run.until(Ask::get(&child), |answer| {
            answer.code == left && answer.body["metadata"]["ownerReferences"].is_null()
        });
        let mut after = after.await;
        after.body["metadata"]["managedFields"] = Value::Null;
        run.record(format!("{policy}: child afterwards"), after.body);
    }
    let mut child = map("lost");
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "6c84fb90-12c4-11e1-840d-7b25c5ee775a",
    }]);
    run.send_unrecorded(Ask::post(&path, child)).await;
    let gone = run
        .until(Ask::get(format!("{path}/lost")), |answer| {
            answer.code == 404
        })
        .await;
    run.record("a child of nobody", gone.body);
}

pub(crate) async fn namespaces(run: &mut Run) {
    let namespace = format!("{}-inner", run.namespace);
    let one = format!("/api/v1/namespaces/{namespace}");
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    run.step("create", Ask::post("/api/v1/namespaces", body.clone()))
        .await;
    run.step("again", Ask::post("/api/v1/namespaces", body))
        .await;
    let maps = format!("{one}/configmaps");
    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["pilothouse.dev/held"]);
    run.send_unrecorded(Ask::post(&maps, held)).await;
    run.send_unrecorded(Ask::post(&maps, map("free"))).await;
    let deleted = run.send_unrecorded(Ask::delete(&one)).await;
    run.record(
        "delete",
        json!([
            deleted.code,
            deleted.body["kind"],
            deleted.body["status"]["phase"],
            deleted.body["spec"]
        ]),
    );
    run.step("create in it", Ask::post(&maps, map("late")))
        .await;
    run.until(Ask::get(format!("{maps}/free")), |answer| {
        answer.code == 404
    })
    .await;
    run.until(Ask::get(format!("{maps}/held")), |answer| {
        answer.body["metadata"]["deletionTimestamp"].is_string()
    })
    .await;
    let remaining = "NamespaceFinalizersRemaining";
    let waiting = run
        .until(Ask::get(&one), |answer| {
            let conditions = answer.body["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|one| one["type"] == remaining && one["status"] == "True")
        })
        .await;
    run.record("waiting", waiting.body["status"].clone());
    run.send_unrecorded(Ask::merge(
        format!("{maps}/held"),
        json!({"metadata": {"finalizers": null}}),
    ))
    .await;
    let gone = run.until(Ask::get(&one), |answer| answer.code == 404).await;
    run.record("gone", gone.body);
}
