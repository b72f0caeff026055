//! Server-side apply: the owners of fields, and the consequences.

use serde_json::{Value, json};

use super::{
    gadget::{GADGETS, gadget, install},
    patches::workload,
};
use crate::run::{Ask, Run};

pub(crate) async fn custom(run: &mut Run) {
    install(run).await;
    let path = run.path(GADGETS);
    let one = format!("{path}/a");
    let by = |manager: &str| format!("{one}?fieldManager={manager}");
    let forced = |manager: &str| format!("{one}?fieldManager={manager}&force=true");
    let with = |spec: Value| gadget("a", spec);
    run.step("no manager", Ask::apply(&one, with(json!({}))))
        .await;
    run.step("create", Ask::apply(by("first"), with(json!({"replicas": 2, "items": [{"name": "a", "value": "x"}], "labels": {"a": "1"}, "tags": ["t"]})))).await;
    run.step("the same", Ask::apply(by("first"), with(json!({"replicas": 2, "items": [{"name": "a", "value": "x"}], "labels": {"a": "1"}, "tags": ["t"]})))).await;
    run.step(
        "another manager adds",
        Ask::apply(
            by("second"),
            with(json!({"items": [{"name": "b"}], "labels": {"b": "2"}, "tags": ["u"]})),
        ),
    )
    .await;
    run.step(
        "conflict",
        Ask::apply(by("second"), with(json!({"replicas": 3}))),
    )
    .await;
    run.step("two conflicts", Ask::apply(by("second"), with(json!({"replicas": 3, "items": [{"name": "a", "value": "y"}], "labels": {"a": "9"}})))).await;
    run.step(
        "shared",
        Ask::apply(by("second"), with(json!({"replicas": 2}))),
    )
    .await;
    run.step(
        "force",
        Ask::apply(
            forced("second"),
            with(json!({"replicas": 3, "labels": {"a": "9"}})),
        ),
    )
    .await;
    run.step("removal", Ask::apply(by("second"), with(json!({}))))
        .await;
    run.step(
        "removal by the first",
        Ask::apply(by("first"), with(json!({}))),
    )
    .await;
    run.step(
        "update takes over",
        Ask::merge(
            format!("{one}?fieldManager=third"),
            json!({"spec": {"replicas": 9, "atomicList": ["a"]}}),
        ),
    )
    .await;
    run.step(
        "conflict with an update",
        Ask::apply(by("first"), with(json!({"replicas": 1}))),
    )
    .await;
    run.step(
        "atomic list",
        Ask::apply(by("first"), with(json!({"atomicList": ["b"]}))),
    )
    .await;
    run.step(
        "atomic map",
        Ask::apply(by("first"), with(json!({"atomicMap": {"a": "1"}}))),
    )
    .await;
    run.step(
        "atomic map of another",
        Ask::apply(by("second"), with(json!({"atomicMap": {"b": "1"}}))),
    )
    .await;
    run.step(
        "null",
        Ask::apply(by("first"), with(json!({"nullable": null}))),
    )
    .await;
    run.step(
        "duplicate keys",
        Ask::apply(
            by("first"),
            with(json!({"items": [{"name": "a"}, {"name": "a"}]})),
        ),
    )
    .await;
    run.step(
        "duplicate in a set",
        Ask::apply(by("first"), with(json!({"tags": ["a", "a"]}))),
    )
    .await;
    run.step(
        "without a key",
        Ask::apply(by("first"), with(json!({"items": [{"value": "a"}]}))),
    )
    .await;
    run.step(
        "wrong type",
        Ask::apply(by("first"), with(json!({"items": "x"}))),
    )
    .await;
    run.step(
        "invalid",
        Ask::apply(by("first"), with(json!({"replicas": 900}))),
    )
    .await;
    run.step(
        "unknown field",
        Ask::apply(by("first"), with(json!({"unknown": 1}))),
    )
    .await;
    let mut named = with(json!({}));
    named["metadata"]["name"] = "b".into();
    run.step("another name", Ask::apply(by("first"), named.clone()))
        .await;
    named["metadata"] = json!({});
    run.step("no name", Ask::apply(by("first"), named.clone()))
        .await;
    named["metadata"] = json!({"name": "a", "managedFields": [{"manager": "x"}]});
    run.step("managed fields", Ask::apply(by("first"), named.clone()))
        .await;
    named["metadata"] = json!({"name": "a", "resourceVersion": "1"});
    run.step("stale version", Ask::apply(by("first"), named.clone()))
        .await;
    named["metadata"] = json!({"name": "a", "uid": "6c84fb90-12c4-11e1-840d-7b25c5ee775a"});
    run.step("another uid", Ask::apply(by("first"), named.clone()))
        .await;
    named["metadata"] = json!({"name": "none", "uid": "6c84fb90-12c4-11e1-840d-7b25c5ee775a"});
    run.step(
        "absent with uid",
        Ask::apply(format!("{path}/none?fieldManager=m"), named.clone()),
    )
    .await;
    named = with(json!({}));
    named.as_object_mut().unwrap().remove("kind");
    run.step("no kind", Ask::apply(by("first"), named.clone()))
        .await;
    named["kind"] = "Other".into();
    run.step("another kind", Ask::apply(by("first"), named.clone()))
        .await;
    named["kind"] = "Gadget".into();
    named["apiVersion"] = "conformance.pilothouse.dev/v7".into();
    run.step("another version", Ask::apply(by("first"), named))
        .await;
    let mut status = with(json!({}));
    status.as_object_mut().unwrap().remove("spec");
    status["status"] = json!({"replicas": 3, "conditions": [{"type": "Ready", "status": "True"}]});
    run.step(
        "status",
        Ask::apply(
            format!("{one}/status?fieldManager=controller"),
            status.clone(),
        ),
    )
    .await;
    status["status"] = json!({"conditions": [{"type": "Ready", "status": "False"}]});
    run.step(
        "status, removal",
        Ask::apply(
            format!("{one}/status?fieldManager=controller"),
            status.clone(),
        ),
    )
    .await;
    run.step("status, conflict", Ask::apply(format!("{one}/status?fieldManager=other"), json!({"apiVersion": status["apiVersion"], "kind": "Gadget", "metadata": {"name": "a"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}))).await;
    run.step("status by the spec's path", Ask::apply(forced("first"), json!({"apiVersion": status["apiVersion"], "kind": "Gadget", "metadata": {"name": "a"}, "spec": {"mode": "slow"}, "status": {"replicas": 99}}))).await;
    run.step("status of an absent one", Ask::apply(format!("{path}/none/status?fieldManager=m"), json!({"apiVersion": status["apiVersion"], "kind": "Gadget", "metadata": {"name": "none"}, "status": {}}))).await;
    run.step(
        "dry run",
        Ask::apply(
            format!("{path}/dry?fieldManager=m&dryRun=All"),
            gadget("dry", json!({})),
        ),
    )
    .await;
    run.step("metadata", Ask::apply(by("meta"), json!({"apiVersion": status["apiVersion"], "kind": "Gadget", "metadata": {"name": "a", "labels": {"l": "1"}, "annotations": {"n": "1"}, "finalizers": ["pilothouse.dev/f"]}}))).await;
    run.step("metadata removed", Ask::apply(by("meta"), json!({"apiVersion": status["apiVersion"], "kind": "Gadget", "metadata": {"name": "a"}}))).await;
    let cleared = json!({"metadata": {"managedFields": [{}]}});
    run.step("ownership is forgotten", Ask::merge(&one, cleared))
        .await;
    run.step(
        "apply after that",
        Ask::apply(by("first"), with(json!({"replicas": 5}))),
    )
    .await;
    run.step(
        "scale takes over",
        Ask::merge(
            format!("{one}/scale?fieldManager=scaler"),
            json!({"spec": {"replicas": 4}}),
        ),
    )
    .await;
    run.step("after the scale", Ask::get(&one)).await;
    run.step(
        "conflict with the scale",
        Ask::apply(by("first"), with(json!({"replicas": 5}))),
    )
    .await;
    run.step(
        "create, then apply",
        Ask::post(
            format!("{path}?fieldManager=creator"),
            gadget("c", json!({"replicas": 2})),
        ),
    )
    .await;
    run.step(
        "conflict with a create",
        Ask::apply(
            format!("{path}/c?fieldManager=first"),
            gadget("c", json!({"replicas": 1})),
        ),
    )
    .await;
    run.step(
        "put as another",
        Ask::put(
            format!("{path}/c?fieldManager=putter"),
            gadget("c", json!({"replicas": 7})),
        ),
    )
    .await;
    run.step(
        "a manager both ways",
        Ask::apply(
            format!("{path}/c?fieldManager=putter&force=true"),
            gadget("c", json!({"replicas": 8})),
        ),
    )
    .await;
}

pub(crate) async fn deployment(run: &mut Run) {
    let path = run.path("apps/v1/deployments");
    let one = format!("{path}/a");
    let by = |manager: &str| format!("{one}?fieldManager={manager}");
    let fields = |value: Value| {
        let mut object =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}});
        for (key, value) in value.as_object().unwrap() {
            object[key] = value.clone();
        }
        object
    };
    run.step("create", Ask::apply(by("first"), workload("a")))
        .await;
    run.step("the same", Ask::apply(by("first"), workload("a")))
        .await;
    run.step(
        "replicas by another",
        Ask::apply(by("scaler"), fields(json!({"spec": {"replicas": 3}}))),
    )
    .await;
    run.step(
        "replicas forced",
        Ask::apply(
            format!("{}&force=true", by("scaler")),
            fields(json!({"spec": {"replicas": 3}})),
        ),
    )
    .await;
    let mut without = workload("a");
    without["spec"].as_object_mut().unwrap().remove("replicas");
    run.step(
        "replicas given up",
        Ask::apply(by("first"), without.clone()),
    )
    .await;
    run.step("a sidecar", Ask::apply(by("sidecar"), fields(json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}}})))).await;
    run.step("an image by another", Ask::apply(by("sidecar"), fields(json!({"spec": {"template": {"spec": {"containers": [{"name": "one", "image": "s"}]}}}})))).await;
    run.step(
        "the sidecar goes",
        Ask::apply(by("sidecar"), fields(json!({}))),
    )
    .await;
    without["spec"]["template"]["spec"]["containers"][0]["ports"] =
        json!([{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]);
    without["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{"name": "B", "value": "2"}]);
    run.step(
        "ports and variables",
        Ask::apply(by("first"), without.clone()),
    )
    .await;
    without["spec"]["template"]["spec"]["containers"][0]["ports"] =
        json!([{"containerPort": 80}, {"containerPort": 80}]);
    run.step("ports twice", Ask::apply(by("first"), without.clone()))
        .await;
    without["spec"]["template"]["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .pop();
    without["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([]);
    without["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"limits": {"memory": "1024Mi", "cpu": 1}});
    run.step("a container goes", Ask::apply(by("first"), without.clone()))
        .await;
    run.step("quantities are equal", Ask::apply(by("other"), fields(json!({"spec": {"template": {"spec": {"containers": [{"name": "one", "resources": {"limits": {"memory": "1Gi", "cpu": "1000m"}}}]}}}})))).await;
    without["spec"]["selector"] = json!({"matchLabels": {"app": "b"}});
    run.step("the selector", Ask::apply(by("first"), without.clone()))
        .await;
    run.step(
        "unknown field",
        Ask::apply(by("first"), fields(json!({"spec": {"unknown": 1}}))),
    )
    .await;
    run.step(
        "wrong type",
        Ask::apply(by("first"), fields(json!({"spec": {"replicas": "x"}}))),
    )
    .await;
    let mut yaml = Ask::apply(by("yaml"), json!({}));
    yaml = yaml.raw("application/apply-patch+yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  labels:\n    yaml: \"yes\"\n");
    run.step("YAML", yaml).await;
    let yaml = Ask::apply(by("yaml"), json!({})).raw("application/apply-patch+yaml", "a: [");
    run.step("no YAML", yaml).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1", "b": "2"}, "binaryData": {"c": "YQ=="}});
    let maps = format!("{}/a?fieldManager=first", run.path("v1/configmaps"));
    run.step("config map", Ask::apply(&maps, map.clone())).await;
    run.step(
        "config map without data",
        Ask::apply(
            &maps,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
        ),
    )
    .await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"a": "1"}});
    let secrets = format!("{}/a?fieldManager=first", run.path("v1/secrets"));
    run.step("secret", Ask::apply(&secrets, secret)).await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "a"}, "clusterIP": "None"}});
    let services = format!("{}/a?fieldManager=first", run.path("v1/services"));
    run.step("service", Ask::apply(&services, service.clone()))
        .await;
    run.step("service by another", Ask::apply(services.replace("first", "second"), json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80, "name": "http"}]}}))).await;
}
