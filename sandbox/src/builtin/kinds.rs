use std::sync::Arc;

use serde_json::Value;

use super::schema::schema_of;
use super::{Resource, resources, schema_json, shared_storage};
use crate::go::{self, Mistyped};
use crate::registry::{Origin, ScalePaths, SchemaSource, ServedKind};
use crate::schema::Schema;

/// Every built-in kind, in the order of discovery. Schemas are decompressed when they are first used.
pub fn kinds() -> Vec<Arc<ServedKind>> {
    resources().iter().map(|r| Arc::new(kind(r))).collect()
}

fn kind(resource: &'static Resource) -> ServedKind {
    let has = |name: &str| resource.subresources.iter().any(|known| known.name == name);
    ServedKind {
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
        list_kind: format!("{}List", resource.kind),
        plural: resource.plural.clone(),
        singular: resource.singular.clone(),
        short_names: resource.short_names.clone(),
        categories: resource.categories.clone(),
        namespaced: resource.namespaced,
        verbs: resource.verbs.clone(),
        status: has("status"),
        scale: has("scale").then(|| ScalePaths {
            spec: ".spec.replicas".to_owned(),
            status: ".status.replicas".to_owned(),
            selector: Some(".spec.selector".to_owned()),
        }),
        columns: Vec::new(),
        selectable_fields: Vec::new(),
        schema: SchemaSource::new(
            || schema_json(&resource.definition),
            || schema_of(&resource.definition).unwrap_or_else(Schema::anything),
        ),
        storage: resource.storage_version_hash.is_some()
            && shared_storage(&resource.group, &resource.version, &resource.plural).is_none(),
        converter: None,
        deprecated: deprecation(resource).map(Into::into),
        origin: Origin::BuiltIn,
    }
}

/// The first value in an object of a built-in kind that its Go type cannot hold.
pub(crate) fn mistyped(kind: &ServedKind, object: &Value) -> Option<Mistyped> {
    go::mistyped(super::definition_of(kind)?, object)
}

/// The warning of a server about a kind, if clients should use another one.
fn deprecation(resource: &Resource) -> Option<&'static str> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        ("", "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(group: &str, plural: &str) -> Arc<ServedKind> {
        let mut all = kinds().into_iter();
        all.find(|k| k.group == group && k.plural == plural)
            .unwrap_or_else(|| panic!("{plural}.{group} is not served"))
    }

    #[test]
    fn every_documented_kind_is_served() {
        for (group, plurals) in [
            (
                "",
                "namespaces pods services configmaps secrets serviceaccounts events nodes persistentvolumeclaims",
            ),
            (
                "apps",
                "deployments replicasets statefulsets daemonsets controllerrevisions",
            ),
            ("batch", "jobs cronjobs"),
            ("coordination.k8s.io", "leases"),
            (
                "rbac.authorization.k8s.io",
                "roles rolebindings clusterroles clusterrolebindings",
            ),
            ("events.k8s.io", "events"),
            ("apiextensions.k8s.io", "customresourcedefinitions"),
        ] {
            for plural in plurals.split(' ') {
                let kind = find(group, plural);
                assert_eq!(
                    kind.schema.json()["properties"]["metadata"]["type"],
                    "object"
                );
            }
        }
    }

    #[test]
    fn names_scopes_and_subresources_are_those_of_a_real_server() {
        let deployments = find("apps", "deployments");
        assert_eq!(deployments.short_names, ["deploy"]);
        assert_eq!(deployments.categories, ["all"]);
        assert_eq!(deployments.singular, "deployment");
        assert!(deployments.status && deployments.scale.is_some() && deployments.namespaced);
        assert!(!find("", "namespaces").namespaced);
        assert!(!find("", "namespaces").allows("deletecollection"));
        assert!(!find("", "configmaps").status);
        assert!(find("batch", "jobs").scale.is_none());
    }
}
