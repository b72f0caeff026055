//! LimitRanges, ResourceQuotas and RuntimeClasses: what they add to objects and refuse.

use serde_json::{Value, json};

use super::admission::pod;
use crate::run::{Ask, Run};

fn container(name: &str, requests: Value, limits: Value) -> Value {
    json!({"name": name, "image": "one:1", "resources": {"requests": requests, "limits": limits}})
}

fn claim(name: &str, size: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": size}}},
    })
}

async fn account(run: &mut Run) {
    let account = json!({"metadata": {"name": "default"}});
    let account = Ask::post(run.path("v1/serviceaccounts"), account);
    run.until(account, |answer| matches!(answer.code, 201 | 409))
        .await;
}

/// Puts a LimitRange into force. A real server learns of it a moment later, when the answer to `probe` contains a text.
async fn limit(run: &mut Run, limits: Value, probe: Ask, refusal: &str) {
    let path = run.path("v1/limitranges");
    run.send_unrecorded(Ask::delete(format!("{path}/range")))
        .await;
    let range = json!({"metadata": {"name": "range"}, "spec": {"limits": limits}});
    let made = run.send_unrecorded(Ask::post(&path, range)).await;
    assert_eq!(made.code, 201, "{made:?}");
    run.until(probe, |answer| answer.body.to_string().contains(refusal))
        .await;
}

pub(crate) async fn of_ranges(run: &mut Run) {
    account(run).await;
    let path = run.path("v1/pods");
    let dry = format!("{path}?dryRun=All");
    let defaults = json!([{"type": "Container", "default": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}}]);
    let probe = Ask::post(&dry, pod("probe", &json!({})));
    limit(run, defaults, probe, "LimitRanger plugin set").await;
    let partly = json!([
        container("one", json!({}), json!({"memory": "2Gi"})),
        container("two", json!({"cpu": "1"}), json!({}))
    ]);
    let first = json!([{"name": "first", "image": "one:1"}]);
    for (name, fields) in [
        ("none", json!({})),
        ("partly", json!({"containers": partly})),
        ("init", json!({"initContainers": first})),
    ] {
        let asked = Ask::post(&dry, pod(name, &fields));
        run.step(format!("defaults: {name}"), asked).await;
    }

    let one = |requests: Value, limits: Value| json!({"containers": [container("one", requests, limits)]});
    let cpu = |request: &str, limit: &str| one(json!({"cpu": request}), json!({"cpu": limit}));
    for (kind, refusal, limit_of, asked) in [
        (
            "min",
            "minimum cpu usage per Container",
            json!({"type": "Container", "min": {"cpu": "100m"}}),
            vec![cpu("50m", "1"), cpu("100m", "100m")],
        ),
        (
            "max",
            "maximum cpu usage per Container",
            json!({"type": "Container", "max": {"cpu": "1"}}),
            vec![cpu("500m", "1500m"), cpu("1", "1")],
        ),
        (
            "ratio",
            "ratio per Container",
            json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}),
            vec![cpu("500m", "1500m"), cpu("500m", "1"), json!({})],
        ),
        (
            "pod min",
            "minimum cpu usage per Pod",
            json!({"type": "Pod", "min": {"cpu": "200m"}}),
            vec![json!({}), cpu("100m", "1"), cpu("200m", "1")],
        ),
        (
            "pod max",
            "maximum cpu usage per Pod",
            json!({"type": "Pod", "max": {"cpu": "1"}}),
            vec![json!({}), cpu("1", "1500m"), cpu("1", "1")],
        ),
        (
            "pod ratio",
            "ratio per Pod",
            json!({"type": "Pod", "maxLimitRequestRatio": {"cpu": "2"}}),
            vec![cpu("300m", "1"), cpu("500m", "1")],
        ),
    ] {
        let probe = Ask::post(&dry, pod("probe", &cpu("1m", "9")));
        limit(run, json!([limit_of]), probe, refusal).await;
        for (number, fields) in asked.iter().enumerate() {
            let asked = Ask::post(&dry, pod("one", fields));
            run.step(format!("{kind}: {number}"), asked).await;
        }
    }
    let sidecar = json!({"name": "proxy", "image": "one:1", "restartPolicy": "Always", "resources": {"limits": {"cpu": "600m"}}});
    let max = json!([{"type": "Pod", "max": {"cpu": "1"}}]);
    let probe = Ask::post(&dry, pod("probe", &cpu("1m", "9")));
    limit(run, max, probe, "maximum cpu usage per Pod").await;
    let mut with = cpu("500m", "500m");
    with["initContainers"] = json!([sidecar]);
    run.step("pod with a sidecar", Ask::post(&dry, pod("one", &with)))
        .await;
    with["initContainers"] = json!([container("first", json!({}), json!({"cpu": "900m"}))]);
    run.step(
        "pod with an init container",
        Ask::post(&dry, pod("one", &with)),
    )
    .await;

    let claims = run.path("v1/persistentvolumeclaims");
    let dry = format!("{claims}?dryRun=All");
    let storage = json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}]);
    let probe = Ask::post(&dry, claim("probe", "9Gi"));
    limit(run, storage, probe, "maximum storage usage").await;
    for size in ["512Mi", "3Gi", "1536Mi"] {
        run.step(
            format!("claim: {size}"),
            Ask::post(&dry, claim("data", size)),
        )
        .await;
    }
}

/// Puts a quota into force in place of all others. Sets its limits and what it counts, as its controller would do. A real server learns of it a moment
/// later, when it refuses `probe` because of it.
async fn quota(run: &mut Run, name: &str, spec: Value, used: Value, probe: Ask) {
    let path = run.path("v1/resourcequotas");
    run.send_unrecorded(Ask::delete(&path)).await;
    let quota = json!({"metadata": {"name": name}, "spec": spec});
    let made = run.send_unrecorded(Ask::post(&path, quota)).await;
    assert_eq!(made.code, 201, "{made:?}");
    let status = json!({"status": {"hard": spec["hard"], "used": used}});
    let set = run
        .send_unrecorded(Ask::merge(format!("{path}/{name}/status"), status))
        .await;
    assert_eq!(set.code, 200, "{set:?}");
    let refusal = format!("quota: {name}");
    run.until(probe, |answer| answer.body.to_string().contains(&refusal))
        .await;
}

async fn used(run: &mut Run, name: &str, step: &str) {
    let quota = Ask::get(format!("{}/{name}", run.path("v1/resourcequotas")));
    let read = run.send_unrecorded(quota).await;
    run.record(step, read.body["status"].clone());
}

pub(crate) async fn of_quotas(run: &mut Run) {
    account(run).await;
    let pods = run.path("v1/pods");
    let dry = format!("{pods}?dryRun=All");
    let one = |requests: Value, limits: Value| json!({"containers": [container("one", requests, limits)]});
    let hard = json!({"pods": "3", "count/pods": "9", "requests.cpu": "1", "limits.memory": "1Gi", "requests.example.com/gpu": "1"});
    let none = json!({"pods": "0", "count/pods": "0", "requests.cpu": "0", "limits.memory": "0", "requests.example.com/gpu": "0"});
    let huge = one(json!({"cpu": "9"}), json!({"memory": "1Mi"}));
    quota(
        run,
        "compute",
        json!({"hard": hard}),
        none,
        Ask::post(&dry, pod("probe", &huge)),
    )
    .await;
    for (name, fields) in [
        ("nothing-stated", json!({})),
        (
            "fits",
            one(json!({"cpu": "600m"}), json!({"memory": "512Mi"})),
        ),
        (
            "too-much-cpu",
            one(json!({"cpu": "600m"}), json!({"memory": "1Mi"})),
        ),
        (
            "too-much-memory",
            one(json!({"cpu": "1m"}), json!({"memory": "1Gi"})),
        ),
        ("both", one(json!({"cpu": "1"}), json!({"memory": "1Gi"}))),
        (
            "device",
            one(
                json!({"cpu": "1m", "example.com/gpu": "1"}),
                json!({"memory": "1Mi", "example.com/gpu": "1"}),
            ),
        ),
        (
            "second-device",
            one(
                json!({"cpu": "1m", "example.com/gpu": "1"}),
                json!({"memory": "1Mi", "example.com/gpu": "1"}),
            ),
        ),
        ("third", one(json!({"cpu": "1m"}), json!({"memory": "1Mi"}))),
        (
            "fourth",
            one(json!({"cpu": "1m"}), json!({"memory": "1Mi"})),
        ),
    ] {
        let answer = run
            .send_unrecorded(Ask::post(&pods, pod(name, &fields)))
            .await;
        run.record(
            format!("compute: {name}"),
            json!([answer.code, answer.body["message"], answer.body["details"]]),
        );
        used(run, "compute", &format!("compute: used after {name}")).await;
    }

    let scoped = json!({"hard": {"pods": "0"}, "scopes": ["BestEffort", "NotTerminating"]});
    quota(
        run,
        "scoped",
        scoped,
        json!({"pods": "0"}),
        Ask::post(&dry, pod("probe", &json!({}))),
    )
    .await;
    for (name, fields) in [
        ("best effort", json!({})),
        ("burstable", one(json!({"cpu": "1m"}), json!({}))),
        ("terminating", json!({"activeDeadlineSeconds": 10})),
    ] {
        let answer = run
            .send_unrecorded(Ask::post(&dry, pod("scoped", &fields)))
            .await;
        run.record(
            format!("scopes: {name}"),
            json!([answer.code, answer.body["message"]]),
        );
    }
    let critical = json!({"priorityClassName": "system-node-critical"});
    for (operator, values) in [
        ("In", json!(["system-node-critical"])),
        ("NotIn", json!(["system-node-critical"])),
        ("Exists", json!([])),
    ] {
        let expression =
            json!({"scopeName": "PriorityClass", "operator": operator, "values": values});
        let spec =
            json!({"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [expression]}});
        let refused = if operator == "NotIn" {
            json!({})
        } else {
            critical.clone()
        };
        let name = format!("by-{}", operator.to_lowercase());
        quota(
            run,
            &name,
            spec,
            json!({"pods": "0"}),
            Ask::post(&dry, pod("probe", &refused)),
        )
        .await;
        for (name, fields) in [("plain", json!({})), ("critical", critical.clone())] {
            let answer = run
                .send_unrecorded(Ask::post(&dry, pod("selected", &fields)))
                .await;
            run.record(
                format!("selectors: {operator} {name}"),
                json!([answer.code, answer.body["message"]]),
            );
        }
    }

    let hard = json!({"services": "2", "services.nodeports": "1", "services.loadbalancers": "0", "count/deployments.apps": "0", "configmaps": "1", "count/configmaps": "1"});
    let none = json!({"services": "0", "services.nodeports": "0", "services.loadbalancers": "0", "count/deployments.apps": "0", "configmaps": "0", "count/configmaps": "0"});
    let services = run.path("v1/services");
    let service = |name: &str, kind: &str, ports: &[u16]| {
        let ports: Vec<Value> = ports
            .iter()
            .map(|port| json!({"name": format!("p{port}"), "port": port}))
            .collect();
        json!({"metadata": {"name": name}, "spec": {"type": kind, "ports": ports}})
    };
    let balancer = Ask::post(
        format!("{services}?dryRun=All"),
        service("probe", "LoadBalancer", &[1, 2]),
    );
    quota(run, "counts", json!({"hard": hard}), none, balancer).await;
    let maps = run.path("v1/configmaps");
    let map = |name: &str| json!({"metadata": {"name": name}});
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    for (name, ask) in [
        (
            "cluster address",
            Ask::post(&services, service("plain", "ClusterIP", &[80, 81])),
        ),
        (
            "two node ports",
            Ask::post(&services, service("two", "NodePort", &[80, 81])),
        ),
        (
            "changed to a node port",
            Ask::merge(
                format!("{services}/plain"),
                json!({"spec": {"type": "NodePort"}}),
            ),
        ),
        (
            "load balancer",
            Ask::post(&services, service("balanced", "LoadBalancer", &[80])),
        ),
        (
            "deployment",
            Ask::post(run.path("apps/v1/deployments"), deployment),
        ),
        ("first map", Ask::post(&maps, map("first"))),
        ("second map", Ask::post(&maps, map("second"))),
        (
            "generated map",
            Ask::post(&maps, json!({"metadata": {"generateName": "A_"}})),
        ),
    ] {
        let answer = run.send_unrecorded(ask).await;
        run.record(
            format!("counts: {name}"),
            json!([answer.code, answer.body["reason"], answer.body["message"]]),
        );
        used(run, "counts", &format!("counts: used after {name}")).await;
    }

    let class = "fast.storageclass.storage.k8s.io";
    let hard = json!({"requests.storage": "3Gi", "persistentvolumeclaims": "5", format!("{class}/requests.storage"): "2Gi", format!("{class}/persistentvolumeclaims"): "1"});
    let none = json!({"requests.storage": "0", "persistentvolumeclaims": "0", format!("{class}/requests.storage"): "0", format!("{class}/persistentvolumeclaims"): "0"});
    let claims = run.path("v1/persistentvolumeclaims");
    let probe = Ask::post(format!("{claims}?dryRun=All"), claim("probe", "9Gi"));
    quota(run, "storage", json!({"hard": hard}), none, probe).await;
    for (name, size) in [("big", "4Gi"), ("fits", "1Gi"), ("second", "512Mi")] {
        let answer = run
            .send_unrecorded(Ask::post(&claims, claim(name, size)))
            .await;
        run.record(
            format!("storage: {name}"),
            json!([answer.code, answer.body["message"]]),
        );
        used(run, "storage", &format!("storage: used after {name}")).await;
    }
}

pub(crate) async fn of_runtime_classes(run: &mut Run) {
    account(run).await;
    let toleration = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoSchedule"});
    let name = "pilothouse-vm";
    let class = json!({
        "metadata": {"name": name}, "handler": "vm",
        "overhead": {"podFixed": {"memory": "100Mi", "cpu": "250m"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [toleration("vm")]},
    });
    let classes = "/apis/node.k8s.io/v1/runtimeclasses";
    run.send_unrecorded(Ask::post(classes, class)).await;
    let dry = format!("{}?dryRun=All", run.path("v1/pods"));
    for (step, fields) in [
        ("plain", json!({"runtimeClassName": name})),
        (
            "same overhead",
            json!({"runtimeClassName": name, "overhead": {"memory": "100Mi", "cpu": "250m"}}),
        ),
        (
            "other overhead",
            json!({"runtimeClassName": name, "overhead": {"memory": "1Mi"}}),
        ),
        ("overhead alone", json!({"overhead": {"memory": "1Mi"}})),
        (
            "selector",
            json!({"runtimeClassName": name, "nodeSelector": {"disk": "ssd", "vm": "yes"}}),
        ),
        (
            "conflict",
            json!({"runtimeClassName": name, "nodeSelector": {"vm": "no"}}),
        ),
        (
            "tolerations",
            json!({"runtimeClassName": name, "tolerations": [toleration("vm"), toleration("gpu"), {"key": "vm", "operator": "Equal", "value": "x", "effect": "NoSchedule"}]}),
        ),
        (
            "all tolerations",
            json!({"runtimeClassName": name, "tolerations": [{"operator": "Exists"}]}),
        ),
        ("missing", json!({"runtimeClassName": "pilothouse-none"})),
    ] {
        run.step(step, Ask::post(&dry, pod("one", &fields))).await;
    }
    run.send_unrecorded(Ask::delete(format!("{classes}/{name}")))
        .await;
}
