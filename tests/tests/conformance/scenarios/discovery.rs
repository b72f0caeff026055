//! Discovery: groups, kinds and schemas.

use serde_json::{Value, json};

use super::gadget::install;
use crate::run::{Ask, Run};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

pub(crate) async fn documents(run: &mut Run) {
    install(run).await;
    let group = "/apis/conformance.pilothouse.dev";
    run.until(Ask::get(group), |answer| answer.code == 200)
        .await;
    run.step("group", Ask::get(group)).await;
    run.step("kinds", Ask::get(format!("{group}/v1"))).await;
    run.step("no such version", Ask::get(format!("{group}/v2")))
        .await;
    run.step("core versions", Ask::get("/api")).await;
    let groups = run.send_unrecorded(Ask::get("/apis")).await.body;
    run.record(
        "entry of the group",
        pick(&groups["groups"], "name", "conformance.pilothouse.dev"),
    );
    for name in [
        "apps",
        "batch",
        "coordination.k8s.io",
        "rbac.authorization.k8s.io",
        "apiextensions.k8s.io",
        "events.k8s.io",
    ] {
        run.record(
            format!("entry of {name}"),
            pick(&groups["groups"], "name", name),
        );
    }
    let ask = Ask::get("/apis").accept(AGGREGATED);
    let ready = run.until(ask, |answer| {
        answer.body["items"].as_array().is_some_and(|items| {
            items
                .iter()
                .any(|item| item["metadata"]["name"] == "conformance.pilothouse.dev")
        })
    });
    let aggregated = ready.await;
    run.record("aggregated: media type", aggregated.content_type.into());
    let mut entry = aggregated.body["items"].clone();
    if let Some(items) = entry.as_array_mut() {
        items.retain(|item| item["metadata"]["name"] == "conformance.pilothouse.dev");
    }
    run.record("aggregated: entry", entry);
    for (path, kinds) in [
        (
            "/api/v1",
            vec![
                "namespaces",
                "namespaces/status",
                "namespaces/finalize",
                "pods",
                "pods/status",
                "pods/log",
                "services",
                "services/status",
                "configmaps",
                "secrets",
                "serviceaccounts",
                "events",
                "nodes",
                "nodes/status",
                "persistentvolumeclaims",
                "persistentvolumeclaims/status",
            ],
        ),
        (
            "/apis/apps/v1",
            vec![
                "deployments",
                "deployments/status",
                "deployments/scale",
                "replicasets",
                "replicasets/scale",
                "statefulsets",
                "statefulsets/status",
                "daemonsets",
                "controllerrevisions",
            ],
        ),
        (
            "/apis/batch/v1",
            vec!["jobs", "jobs/status", "cronjobs", "cronjobs/status"],
        ),
        ("/apis/coordination.k8s.io/v1", vec!["leases"]),
        (
            "/apis/rbac.authorization.k8s.io/v1",
            vec![
                "roles",
                "rolebindings",
                "clusterroles",
                "clusterrolebindings",
            ],
        ),
        (
            "/apis/apiextensions.k8s.io/v1",
            vec![
                "customresourcedefinitions",
                "customresourcedefinitions/status",
            ],
        ),
        ("/apis/events.k8s.io/v1", vec!["events"]),
    ] {
        let answer = run.send_unrecorded(Ask::get(path)).await.body;
        for kind in kinds {
            run.record(
                format!("{path} {kind}"),
                pick(&answer["resources"], "name", kind),
            );
        }
    }
    let openapi = "/openapi/v3/apis/conformance.pilothouse.dev/v1";
    let document = run
        .until(Ask::get(openapi), |answer| answer.code == 200)
        .await
        .body;
    for part in ["openapi", "info"] {
        run.record(format!("openapi: {part}"), document[part].clone());
    }
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    run.record(
        "openapi: paths",
        paths.keys().cloned().collect::<Vec<_>>().into(),
    );
    for (path, methods) in &paths {
        run.record(format!("openapi: {path}"), methods.clone());
    }
    let schemas = document["components"]["schemas"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    run.record(
        "openapi: schemas",
        schemas.keys().cloned().collect::<Vec<_>>().into(),
    );
    for (name, schema) in &schemas {
        if name.starts_with("dev.pilothouse") {
            run.record(format!("openapi: {name}"), schema.clone());
        }
    }
    let index = run.send_unrecorded(Ask::get("/openapi/v3")).await.body;
    let url = index["paths"]["apis/conformance.pilothouse.dev/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap_or_default();
    run.record(
        "openapi: index",
        json!([url.split('=').next(), url.split('=').nth(1).map(str::len)]),
    );
    let version = run.send_unrecorded(Ask::get("/version")).await.body;
    let keys: Vec<String> = version
        .as_object()
        .map(|object| object.keys().cloned().collect())
        .unwrap_or_default();
    run.record("version", keys.into());
    for path in ["/healthz", "/livez", "/readyz"] {
        run.step(path, Ask::get(path)).await;
    }
}

fn pick(items: &Value, key: &str, name: &str) -> Value {
    let found = items
        .as_array()
        .into_iter()
        .flatten()
        .find(|item| item[key] == name);
    found.cloned().unwrap_or_default()
}
