use serde_json::{Value, json};

use super::{group_names, versions};
use crate::registry::Registry;

/// `/api`: the versions of the core group.
pub(crate) fn api_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    })
}

/// `/apis`: every group but the core group.
pub(crate) fn group_list(registry: &Registry) -> Value {
    let groups: Vec<Value> = group_names(registry)
        .into_iter()
        .map(|name| entry(registry, name))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/`: the paths that are served, with those of `health`.
pub(crate) fn paths(registry: &Registry, health: &[String]) -> Value {
    let fixed = [
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        "/openid/v1/jwks",
        "/version",
    ];
    let mut paths: Vec<String> = fixed.map(String::from).into();
    paths.extend_from_slice(health);
    for group in group_names(registry) {
        paths.push(format!("/apis/{group}"));
        let versions = versions(registry, group).into_iter();
        paths.extend(versions.map(|version| format!("/apis/{group}/{version}")));
    }
    paths.sort();
    json!({"paths": paths})
}

/// `/apis/<group>`. Returns `None` if the group is not served.
pub(crate) fn group(registry: &Registry, name: &str) -> Option<Value> {
    if name.is_empty() || versions(registry, name).is_empty() {
        return None;
    }
    let mut group = entry(registry, name);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

fn entry(registry: &Registry, name: &str) -> Value {
    let versions: Vec<Value> = versions(registry, name)
        .into_iter()
        .map(|version| json!({"groupVersion": format!("{name}/{version}"), "version": version}))
        .collect();
    json!({
        "name": name,
        "preferredVersion": versions.first(),
        "versions": versions,
    })
}
