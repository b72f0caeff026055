use serde_json::{Map, Value, json};

use super::subresource::Subresource;
use crate::registry::{Registry, ServedKind};

/// Verbs of a subresource.
pub(super) const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// `/api/v1` and `/apis/<group>/<version>`; `None` if nothing is served there.
pub fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut kinds: Vec<&ServedKind> = registry
        .kinds()
        .iter()
        .map(AsRef::as_ref)
        .filter(|kind| kind.group == group && kind.version == version)
        .collect();
    kinds.sort_by(|a, b| a.plural.cmp(&b.plural));
    let api_version = kinds.first()?.api_version();
    let resources: Vec<Value> = kinds.into_iter().flat_map(entries).collect();
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": resources,
    }))
}

/// The resource itself and its subresources.
fn entries(kind: &ServedKind) -> Vec<Value> {
    let mut main = Map::new();
    main.insert("name".to_owned(), json!(kind.plural));
    main.insert("singularName".to_owned(), json!(kind.singular));
    main.insert("namespaced".to_owned(), json!(kind.namespaced));
    main.insert("kind".to_owned(), json!(kind.kind));
    main.insert("verbs".to_owned(), json!(kind.verbs));
    if !kind.short_names.is_empty() {
        main.insert("shortNames".to_owned(), json!(kind.short_names));
    }
    if !kind.categories.is_empty() {
        main.insert("categories".to_owned(), json!(kind.categories));
    }
    let mut entries = vec![Value::Object(main)];
    for subresource in Subresource::of(kind) {
        let mut entry = json!({
            "name": format!("{}/{}", kind.plural, subresource.name),
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": subresource.kind,
            "verbs": subresource.verbs,
        });
        if !subresource.group.is_empty() {
            entry["group"] = subresource.group.into();
            entry["version"] = "v1".into();
        }
        entries.push(entry);
    }
    if kind.scale.is_some() {
        entries.push(json!({
            "name": format!("{}/scale", kind.plural),
            "singularName": "",
            "namespaced": kind.namespaced,
            "group": "autoscaling",
            "version": "v1",
            "kind": "Scale",
            "verbs": SUBRESOURCE_VERBS,
        }));
    }
    if kind.status {
        entries.push(json!({
            "name": format!("{}/status", kind.plural),
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": SUBRESOURCE_VERBS,
        }));
    }
    entries
}
