//! Discovery documents.

use serde_json::{Value, json};

/// Returns the document of a discovery path.
pub(super) fn answer(path: &str) -> Option<Value> {
    let group = json!({
        "name": "bench.pilothouse.dev",
        "versions": [{"groupVersion": "bench.pilothouse.dev/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "bench.pilothouse.dev/v1", "version": "v1"},
    });
    let resource = |name: &str, kind: &str| {
        json!({
            "name": name, "singularName": kind.to_lowercase(), "namespaced": kind != "Node", "kind": kind, "verbs": ["get", "list", "watch", "patch"],
        })
    };
    let resources = |version: &str, resources: Value| {
        json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources,
        })
    };
    Some(match path {
        "/version" => {
            json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0", "platform": "linux/amd64"})
        }
        "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
        "/apis" => json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]}),
        "/api/v1" => resources(
            "v1",
            json!([
                resource("pods", "Pod"),
                resource("nodes", "Node"),
                resource("configmaps", "ConfigMap"),
                resource("secrets", "Secret")
            ]),
        ),
        "/apis/bench.pilothouse.dev/v1" => resources(
            "bench.pilothouse.dev/v1",
            json!([resource("widgets", "Widget")]),
        ),
        _ => return None,
    })
}
