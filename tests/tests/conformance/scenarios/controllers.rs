//! What the controllers write, whose work the simulator does: EndpointSlices, Endpoints and the states of disruption budgets. The Pods are
//! bound to a node without a kubelet, so nobody runs them, and the scenario sets their states.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::run::{Ask, Run};

/// How long the objects have to stay the same.
const QUIET: Duration = Duration::from_millis(2500);
/// The longest wait until they do.
const PATIENCE: Duration = Duration::from_secs(30);
const NODE: &str = "elsewhere";
/// The annotation with the time of the change that led to these endpoints.
const CHANGED: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// Waits for the service account of Pods.
async fn prepare(run: &mut Run) {
    let account = run.path("v1/serviceaccounts/default");
    run.until(Ask::get(account), |answer| answer.code == 200)
        .await;
    // The EndpointSlices of a real server leave out the Pods of a node that does not exist.
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": NODE, "labels": {"topology.kubernetes.io/zone": "zone"}},
    });
    let made = run.send_unrecorded(Ask::post("/api/v1/nodes", node)).await;
    assert!(matches!(made.code, 201 | 409), "{made:?}");
}

async fn create(run: &mut Run, kind: &str, object: Value) {
    let path = run.path(kind);
    let made = run.send_unrecorded(Ask::post(path, object)).await;
    assert_eq!(made.code, 201, "{made:?}");
}

async fn merge(run: &mut Run, path: &str, change: Value) {
    let path = run.path(path);
    let made = run.send_unrecorded(Ask::merge(path, change)).await;
    assert_eq!(made.code, 200, "{made:?}");
}

fn pod_spec(port: u16) -> Value {
    json!({
        "nodeName": NODE,
        "containers": [{"name": "one", "image": "one:1", "ports": [{"name": "http", "containerPort": port}]}],
    })
}

/// The state of one of up to twelve Pods. The order of their addresses is not that of their names.
fn status(number: usize, ready: bool) -> Value {
    let ip = format!("10.1.0.{}", 12 - number);
    let ready = if ready { "True" } else { "False" };
    json!({"status": {
        "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
        "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-02T03:04:05Z"}],
    }})
}

/// Lists objects of these kinds in the namespace until they stay the same, and records the parts of them that a controller writes.
async fn observe(run: &mut Run, step: &str, kinds: &[&str], parts: fn(&Value) -> Value) {
    let paths: Vec<String> = kinds.iter().map(|kind| run.path(kind)).collect();
    let seen = settled(run, &paths, parts).await;
    run.record(step, seen);
}

/// Lists objects until they stay the same, and returns parts of them.
async fn settled(run: &mut Run, paths: &[String], parts: fn(&Value) -> Value) -> Value {
    let late = Instant::now() + PATIENCE;
    let (mut seen, mut since) = (Value::Null, Instant::now());
    while since.elapsed() < QUIET {
        assert!(Instant::now() < late, "it does not stay the same: {seen}");
        sleep(Duration::from_millis(100)).await;
        let mut now = Vec::new();
        for path in paths {
            let listed = run.send_unrecorded(Ask::get(path)).await.body;
            let items = listed["items"].as_array().into_iter().flatten();
            now.extend(items.map(parts));
        }
        now.sort_by_key(Value::to_string);
        let now = Value::from(now);
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
    }
    seen
}

/// An EndpointSlice or Endpoints without what differs from server to server.
fn endpoints(object: &Value) -> Value {
    let mut shown = object.clone();
    let metadata = &object["metadata"];
    let mut annotations = metadata["annotations"].clone();
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.remove(CHANGED);
    }
    let annotations = Some(annotations).filter(|one| *one != json!({}));
    shown["metadata"] = json!({
        "labels": metadata["labels"], "annotations": annotations,
        "generateName": metadata["generateName"], "owners": metadata["ownerReferences"],
    });
    let are_lists_sorted = shown["addressType"].is_null();
    sort(&mut shown, are_lists_sorted);
    if let Some(subsets) = shown["subsets"].as_array_mut() {
        subsets.sort_by_key(Value::to_string);
    }
    shown
}

/// Removes UIDs, and sorts the lists, whose order the controllers do not promise. That in a subset of Endpoints they do, but not
/// that of subsets, which depends on UIDs.
fn sort(value: &mut Value, are_lists_sorted: bool) {
    match value {
        Value::Array(items) => {
            items
                .iter_mut()
                .for_each(|item| sort(item, are_lists_sorted));
            if !are_lists_sorted {
                items.sort_by_key(Value::to_string);
            }
        }
        Value::Object(fields) => {
            fields.remove("uid");
            fields
                .values_mut()
                .for_each(|value| sort(value, are_lists_sorted));
        }
        _ => {}
    }
}

pub(crate) async fn of_services(run: &mut Run) {
    const KINDS: &[&str] = &["discovery.k8s.io/v1/endpointslices", "v1/endpoints"];
    prepare(run).await;
    for (name, port) in [("a", 8080), ("b", 8080), ("c", 9090), ("d", 8080)] {
        let mut spec = pod_spec(port);
        if name == "d" {
            spec["hostname"] = "first".into();
            spec["subdomain"] = "headless".into();
        }
        let metadata = json!({
            "name": name, "labels": {"app": "web"}, "finalizers": ["conformance.pilothouse.dev/wait"],
        });
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        create(run, "v1/pods", pod).await;
    }
    let ports = json!([
        {"name": "http", "port": 80, "targetPort": "http", "appProtocol": "kubernetes.io/h2c"},
        {"name": "metrics", "port": 9000, "targetPort": 9001},
    ]);
    let selector = json!({"app": "web"});
    for (name, spec) in [
        ("web", json!({"selector": selector, "ports": ports})),
        (
            "headless",
            json!({"selector": selector, "ports": ports, "clusterIP": "None"}),
        ),
        (
            "portless",
            json!({"selector": selector, "clusterIP": "None"}),
        ),
        (
            "early",
            json!({"selector": selector, "ports": [{"port": 80, "targetPort": 8080}], "publishNotReadyAddresses": true}),
        ),
        (
            "nobody",
            json!({"selector": {"app": "none"}, "ports": [{"port": 80}]}),
        ),
        ("unselected", json!({"ports": [{"port": 80}]})),
    ] {
        let metadata = json!({"name": name, "labels": {"of": name}});
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec});
        create(run, "v1/services", service).await;
    }
    observe(run, "no addresses", KINDS, endpoints).await;
    for (number, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let path = format!("v1/pods/{name}/status");
        merge(run, &path, status(number + 1, name != "b")).await;
    }
    observe(run, "addresses", KINDS, endpoints).await;
    merge(run, "v1/pods/b/status", status(2, true)).await;
    merge(
        run,
        "v1/pods/c/status",
        json!({"status": {"phase": "Succeeded"}}),
    )
    .await;
    merge(
        run,
        "v1/pods/d",
        json!({"metadata": {"labels": {"app": "other"}}}),
    )
    .await;
    observe(run, "a change of Pods", KINDS, endpoints).await;
    let path = run.path("v1/pods/a?gracePeriodSeconds=0");
    run.send_unrecorded(Ask::delete(path)).await;
    observe(run, "a Pod ends", KINDS, endpoints).await;
    let change = json!({
        "metadata": {"labels": {"of": "changed"}}, "spec": {"ports": [{"name": "http", "port": 81, "targetPort": 8081}]},
    });
    merge(run, "v1/services/web", change).await;
    observe(run, "a change of a Service", KINDS, endpoints).await;
    let path = run.path("v1/services/early");
    run.send_unrecorded(Ask::delete(path)).await;
    observe(run, "a Service is gone", KINDS, endpoints).await;
    for name in ["a", "b", "c", "d"] {
        let change = json!({"metadata": {"finalizers": null}});
        merge(run, &format!("v1/pods/{name}"), change).await;
    }
}

pub(crate) async fn of_written_endpoints(run: &mut Run) {
    const KINDS: &[&str] = &["discovery.k8s.io/v1/endpointslices"];
    let subsets = json!([
        {"addresses": [{"ip": "10.1.0.1", "hostname": "one"}, {"ip": "fd00::1"}], "ports": [{"port": 80}]},
        {"notReadyAddresses": [{"ip": "10.1.0.2", "nodeName": NODE}], "ports": [{"port": 80}]},
        {"addresses": [{"ip": "10.1.0.3"}], "notReadyAddresses": [{"ip": "10.1.0.4"}], "ports": [
            {"name": "a", "port": 81}, {"name": "b", "port": 82, "protocol": "UDP", "appProtocol": "kubernetes.io/h2c"}]},
        {"addresses": [{"ip": "10.1.0.3"}], "notReadyAddresses": [{"ip": "10.1.0.4"}], "ports": [{"name": "c", "port": 83}]},
        {"addresses": [{"ip": "10.1.0.5"}]},
    ]);
    let marked = json!({"a": "1", CHANGED: "2026-01-02T03:04:05Z"});
    for (name, annotations, subsets) in [
        ("all", marked, subsets),
        ("none", json!({}), json!([])),
        (
            "unknown",
            json!({}),
            json!([{"addresses": [{"ip": "10.1.0.6"}], "ports": [{"port": 80}]}]),
        ),
        (
            "lock",
            json!({"control-plane.alpha.kubernetes.io/leader": "{}"}),
            json!([{"addresses": [{"ip": "10.1.0.7"}], "ports": [{"port": 80}]}]),
        ),
    ] {
        let object = json!({
            "apiVersion": "v1", "kind": "Endpoints", "subsets": subsets,
            "metadata": {"name": name, "labels": {"of": name}, "annotations": annotations},
        });
        create(run, "v1/endpoints", object).await;
    }
    for name in ["all", "none", "lock"] {
        let object = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": {"service": name}},
            "spec": {"ports": [{"port": 80}]},
        });
        create(run, "v1/services", object).await;
    }
    let fewer = json!([{"addresses": [{"ip": "10.1.0.1"}], "ports": [{"port": 90}]}]);
    let change =
        json!({"subsets": fewer, "metadata": {"labels": {"of": "changed"}, "annotations": null}});
    merge(run, "v1/endpoints/all", change).await;
    observe(run, "a change of Endpoints", KINDS, endpoints).await;
    const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
    let label = json!({"metadata": {"labels": {SKIP: "true"}}});
    merge(run, "v1/endpoints/all", label).await;
    observe(run, "a label against copies", KINDS, endpoints).await;
    let label = json!({"metadata": {"labels": {SKIP: "false"}}});
    merge(run, "v1/endpoints/all", label).await;
    observe(run, "the label changes", KINDS, endpoints).await;
    let selector = json!({"spec": {"selector": {"app": "none"}}});
    merge(run, "v1/services/all", selector).await;
    observe(run, "a selector", KINDS, endpoints).await;
    merge(run, "v1/services/all", json!({"spec": {"selector": null}})).await;
    observe(run, "no selector again", KINDS, endpoints).await;
    let path = run.path("v1/services/all");
    run.send_unrecorded(Ask::delete(path)).await;
    observe(
        run,
        "the Service is gone",
        &[KINDS[0], "v1/endpoints"],
        endpoints,
    )
    .await;
}

/// The state of a budget without times.
fn budget(object: &Value) -> Value {
    let mut status = object["status"].clone();
    let conditions = status["conditions"].as_array_mut().into_iter().flatten();
    for condition in conditions {
        condition["lastTransitionTime"] = Value::Null;
    }
    json!({"name": object["metadata"]["name"], "status": status})
}

pub(crate) async fn of_budgets(run: &mut Run) {
    const KINDS: &[&str] = &["policy/v1/poddisruptionbudgets"];
    prepare(run).await;
    let budgets = [
        ("least", json!({"minAvailable": 2})),
        ("least-share", json!({"minAvailable": "50%"})),
        ("most", json!({"maxUnavailable": 1})),
        ("most-share", json!({"maxUnavailable": "30%"})),
    ];
    // Each has Pods of its own: of several budgets for a Pod a real server takes any.
    for (name, mut spec) in budgets.clone() {
        let labels = json!({"app": name});
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name},
            "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"name": "of-no-pod", "labels": labels}, "spec": pod_spec(8080)}},
        });
        create(run, "apps/v1/replicasets", set).await;
        spec["selector"] = json!({"matchLabels": labels});
        create_budget(run, name, spec).await;
    }
    let none = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "none"}}});
    create_budget(run, "none", none).await;
    create_budget(run, "no-selector", json!({"minAvailable": 1})).await;
    observe(run, "no Pod is ready", KINDS, budget).await;
    let all = 3 * budgets.len();
    let path = run.path("v1/pods");
    let pods = run
        .until(Ask::get(path), |answer| {
            let items = answer.body["items"].as_array();
            items.is_some_and(|items| items.len() == all)
        })
        .await;
    let items = pods.body["items"].as_array().unwrap();
    let of = |pod: &Value, field: &str| pod["metadata"][field].clone();
    let text = |value: Value| value.as_str().unwrap().to_owned();
    let named = items.iter().map(|pod| {
        (
            text(of(pod, "labels")["app"].clone()),
            text(of(pod, "name")),
        )
    });
    let named: Vec<(String, String)> = named.collect();
    for (number, (_, name)) in named.iter().enumerate() {
        let path = format!("v1/pods/{name}/status");
        merge(run, &path, status(number + 1, true)).await;
    }
    observe(run, "each Pod is ready", KINDS, budget).await;
    for (budget, _) in &budgets {
        let first = named.iter().position(|(app, _)| app == budget).unwrap();
        let path = format!("v1/pods/{}/status", named[first].1);
        merge(run, &path, status(first + 1, false)).await;
    }
    observe(run, "a Pod of each is not ready", KINDS, budget).await;
}

async fn create_budget(run: &mut Run, name: &str, spec: Value) {
    let object = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec,
    });
    create(run, "policy/v1/poddisruptionbudgets", object).await;
}

/// What a role or a binding says, with the kind of its list left out.
fn role(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({
        "name": metadata["name"], "namespace": metadata["namespace"], "labels": metadata["labels"],
        "annotations": metadata["annotations"], "aggregationRule": object["aggregationRule"], "rules": object["rules"],
        "subjects": object["subjects"], "roleRef": object["roleRef"],
    })
}

/// The roles and bindings of a new cluster.
pub(crate) async fn of_roles(run: &mut Run) {
    for plural in [
        "clusterroles",
        "clusterrolebindings",
        "roles",
        "rolebindings",
    ] {
        let path = format!(
            "/apis/rbac.authorization.k8s.io/v1/{plural}?labelSelector=kubernetes.io%2Fbootstrapping"
        );
        let seen = settled(run, &[path], role).await;
        run.record(plural, seen);
    }
}
