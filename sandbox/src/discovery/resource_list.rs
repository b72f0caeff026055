use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::subresources::Subresource;
use crate::definitions::is_definition;
use crate::registry::{Registry, ServedKind};

/// `/api/v1` and `/apis/<group>/<version>`. Returns `None` if the version is not served.
pub(crate) fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut kinds: Vec<&ServedKind> = registry
        .kinds()
        .iter()
        .map(AsRef::as_ref)
        .filter(|kind| kind.group == group && kind.version == version)
        .collect();
    kinds.sort_by(|a, b| a.plural.cmp(&b.plural));
    let api_version = kinds.first()?.api_version();
    let resources: Vec<Value> = kinds
        .into_iter()
        .flat_map(|kind| entries(registry, kind))
        .collect();
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": resources,
    }))
}

/// The resource and its subresources.
fn entries(registry: &Registry, kind: &ServedKind) -> Vec<Value> {
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
    main.insert(
        "storageVersionHash".to_owned(),
        stored_as(registry, kind).into(),
    );
    let mut entries = vec![Value::Object(main)];
    entries.extend(Subresource::of(kind).iter().map(Subresource::entry));
    entries
}

/// A hash of the stored form of objects. It is the same for all resources that read the same objects, and it changes
/// with the form.
fn stored_as(registry: &Registry, kind: &ServedKind) -> String {
    let stored = match (kind.group.as_str(), kind.plural.as_str()) {
        ("events.k8s.io", "events") => registry.storage("", "events"),
        (group, plural) => registry.storage(group, plural),
    };
    let stored = stored.map_or(kind, AsRef::as_ref);
    // A real server still names the version in which it first stored definitions.
    let version = match is_definition(stored) {
        true => "v1beta1",
        false => stored.version.as_str(),
    };
    let text = format!("{}/{version}/{}", stored.group, stored.kind);
    let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    STANDARD.encode(hash.as_ref().get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn resources_of_the_same_objects_are_stored_in_the_same_form() {
        let registry = Registry::new(builtin::kinds());
        let hash = |group, version, name: &str| {
            let list = resource_list(&registry, group, version).unwrap();
            let all = list["resources"].as_array().unwrap().clone();
            let found = all.into_iter().find(|entry| entry["name"] == name);
            found.unwrap()["storageVersionHash"].clone()
        };
        assert_eq!(hash("", "v1", "pods"), "xPOwRZ+Yhw8=");
        assert_eq!(hash("", "v1", "events"), "r2yiGXH7wu8=");
        assert_eq!(hash("events.k8s.io", "v1", "events"), "r2yiGXH7wu8=");
    }
}
