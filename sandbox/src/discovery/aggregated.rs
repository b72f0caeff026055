use serde_json::{Map, Value, json};

use super::subresources;
use super::{group_names, versions};
use crate::registry::{Registry, ServedKind};

/// Content type of aggregated discovery.
pub(crate) const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The media type in which an `Accept` header wants aggregated discovery, in the version that is served here. Returns `None`
/// if it prefers the plain documents.
pub(crate) fn wants_aggregated(accept: &str) -> Option<&str> {
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        if !matches!(
            media_type,
            "application/json" | "application/vnd.kubernetes.protobuf"
        ) {
            continue;
        }
        let (mut group, mut version, mut list) = (false, false, false);
        let mut plain = true;
        for part in parts {
            group |= part == "g=apidiscovery.k8s.io";
            version |= part == "v=v2";
            list |= part == "as=APIGroupDiscoveryList";
            plain &= !part.starts_with("as=");
        }
        if group && version && list {
            return Some(media_type);
        }
        if plain {
            return None;
        }
    }
    None
}

/// All resources in one document: the core group for `/api`, all other groups for `/apis`.
pub(crate) fn aggregated(registry: &Registry, core: bool) -> Value {
    let names = if core {
        vec![""]
    } else {
        group_names(registry)
    };
    let items: Vec<Value> = names
        .into_iter()
        .map(|name| group(registry, name))
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn group(registry: &Registry, name: &str) -> Value {
    let versions: Vec<Value> = versions(registry, name)
        .into_iter()
        .map(|version| {
            let mut kinds: Vec<&ServedKind> = registry
                .kinds()
                .iter()
                .map(AsRef::as_ref)
                .filter(|kind| kind.group == name && kind.version == version)
                .collect();
            kinds.sort_by(|a, b| a.plural.cmp(&b.plural));
            let resources: Vec<Value> = kinds.into_iter().map(resource).collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    let metadata = if name.is_empty() {
        json!({})
    } else {
        json!({"name": name})
    };
    json!({"metadata": metadata, "versions": versions})
}

fn resource(kind: &ServedKind) -> Value {
    let own = subresources::response_kind(kind, &kind.group, &kind.version, &kind.kind);
    let mut out = Map::new();
    out.insert("resource".to_owned(), json!(kind.plural));
    out.insert("responseKind".to_owned(), own);
    let scope = if kind.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    out.insert("scope".to_owned(), json!(scope));
    out.insert("singularResource".to_owned(), json!(kind.singular));
    out.insert("verbs".to_owned(), json!(kind.verbs));
    if !kind.short_names.is_empty() {
        out.insert("shortNames".to_owned(), json!(kind.short_names));
    }
    if !kind.categories.is_empty() {
        out.insert("categories".to_owned(), json!(kind.categories));
    }
    let subresources: Vec<Value> = subresources::subresources(kind)
        .iter()
        .map(|one| subresources::aggregated(kind, one))
        .collect();
    if !subresources.is_empty() {
        out.insert("subresources".to_owned(), Value::Array(subresources));
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::discovery::{group_list, resource_list};

    #[test]
    fn aggregated_discovery_is_served_to_clients_that_prefer_it() {
        let kubectl = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        assert_eq!(wants_aggregated(kubectl), Some("application/json"));
        assert_eq!(wants_aggregated("application/json, */*"), None);
        let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        assert_eq!(wants_aggregated(old), None);
    }

    #[test]
    fn both_forms_list_the_same_resources() {
        let registry = Registry::new(builtin::kinds());
        let aggregated = aggregated(&registry, false);
        let groups = group_list(&registry);
        assert_eq!(
            aggregated["items"].as_array().unwrap().len(),
            groups["groups"].as_array().unwrap().len()
        );
        let items = aggregated["items"].as_array().unwrap();
        let apps = items.iter().find(|item| item["metadata"]["name"] == "apps");
        let apps = apps.unwrap();
        let plain = resource_list(&registry, "apps", "v1").unwrap();
        let plain: Vec<&str> = plain["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["name"].as_str().unwrap())
            .filter(|name| !name.contains('/'))
            .collect();
        let resources = apps["versions"][0]["resources"].as_array().unwrap();
        let names: Vec<&str> = resources
            .iter()
            .map(|r| r["resource"].as_str().unwrap())
            .collect();
        assert_eq!(names, plain);
        assert_eq!(
            resources[2]["subresources"][0]["responseKind"]["kind"],
            "Scale"
        );
    }
}
