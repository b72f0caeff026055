use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::subresources::{entry, subresources};
use crate::builtin;
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
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version,
        "resources": resources,
    });
    // The list of the core group is older than the field.
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
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
    if let Some(hash) = stored_as(registry, kind) {
        main.insert("storageVersionHash".to_owned(), hash.into());
    }
    let mut entries = vec![Value::Object(main)];
    entries.extend(subresources(kind).iter().map(|one| entry(kind, one)));
    entries
}

/// A hash of the stored form of objects. It is the same for all resources that read the same objects, and it changes
/// with the form. Returns `None` for kinds that are not stored.
fn stored_as(registry: &Registry, kind: &ServedKind) -> Option<String> {
    if let Some(resource) = builtin::resource(kind) {
        return resource.storage_version_hash.clone();
    }
    let stored = registry.storage(&kind.group, &kind.plural);
    let stored = stored.map_or(kind, AsRef::as_ref);
    let text = format!("{}/{}/{}", stored.group, stored.version, stored.kind);
    let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    Some(STANDARD.encode(hash.as_ref().get(..8).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
