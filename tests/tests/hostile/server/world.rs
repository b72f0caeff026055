//! The objects of the server, and the honest answers about them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The objects and all their changes.
#[derive(Default)]
pub(crate) struct World {
    version: u64,
    uids: u64,
    objects: BTreeMap<String, BTreeMap<Key, Value>>,
    log: Vec<Change>,
}

/// Namespace and name.
type Key = (String, String);

/// One change in the form of a watch event.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    plural: String,
    namespace: String,
    pub(crate) kind: &'static str,
    pub(crate) object: Value,
}

/// Returns the API version and the kind of a collection.
fn types(plural: &str) -> (&'static str, &'static str) {
    match plural {
        "widgets" => ("test.pilothouse.dev/v1", "Widget"),
        "leases" => ("coordination.k8s.io/v1", "Lease"),
        "events" => ("events.k8s.io/v1", "Event"),
        "configmaps" => ("v1", "ConfigMap"),
        _ => ("v1", "Unknown"),
    }
}

impl World {
    /// Returns the version of the newest change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Creates or replaces an object. It gets a new version if anything changes, and keeps its UID.
    pub(crate) fn put(&mut self, plural: &str, key: (&str, &str), mut object: Value) -> Value {
        let key = (key.0.to_owned(), key.1.to_owned());
        let before = self
            .objects
            .get(plural)
            .and_then(|all| all.get(&key))
            .cloned();
        let uid = before
            .as_ref()
            .map(|before| before["metadata"]["uid"].clone());
        let is_new = uid.is_none();
        let uid = uid.unwrap_or_else(|| {
            self.uids += 1;
            json!(format!("uid-{}", self.uids))
        });
        let (api_version, kind) = types(plural);
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        let metadata = &mut object["metadata"];
        metadata["namespace"] = json!(key.0);
        metadata["name"] = json!(key.1);
        metadata["uid"] = uid;
        metadata["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        if let Some(before) = before {
            metadata["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
            if object == before {
                return before;
            }
        }
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let kind = if is_new { "ADDED" } else { "MODIFIED" };
        self.record(plural, &key.0, kind, object.clone());
        let all = self.objects.entry(plural.to_owned()).or_default();
        all.insert(key, object.clone());
        object
    }

    /// Deletes an object.
    pub(crate) fn delete(&mut self, plural: &str, key: (&str, &str)) -> Option<Value> {
        let key = (key.0.to_owned(), key.1.to_owned());
        let mut object = self.objects.get_mut(plural)?.remove(&key)?;
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.record(plural, &key.0, "DELETED", object.clone());
        Some(object)
    }

    fn record(&mut self, plural: &str, namespace: &str, kind: &'static str, object: Value) {
        self.log.push(Change {
            version: self.version,
            plural: plural.to_owned(),
            namespace: namespace.to_owned(),
            kind,
            object,
        });
    }

    /// Returns the object if it exists.
    pub(crate) fn get(&self, plural: &str, key: (&str, &str)) -> Option<&Value> {
        let key = (key.0.to_owned(), key.1.to_owned());
        self.objects.get(plural)?.get(&key)
    }

    /// Returns the objects of a collection, in all namespaces or in one.
    pub(crate) fn list(&self, plural: &str, namespace: Option<&str>) -> Vec<Value> {
        let all = self.objects.get(plural).into_iter().flatten();
        all.filter(|((its, _), _)| namespace.is_none_or(|namespace| namespace == its))
            .map(|(_, object)| object.clone())
            .collect()
    }

    /// Returns the changes of a collection that are newer than `version`.
    pub(crate) fn since(&self, plural: &str, namespace: Option<&str>, version: u64) -> Vec<Change> {
        let newer = self.log.iter().filter(|change| change.version > version);
        newer
            .filter(|change| change.plural == plural)
            .filter(|change| namespace.is_none_or(|namespace| namespace == change.namespace))
            .cloned()
            .collect()
    }

    /// Returns the body of a list.
    pub(crate) fn list_body(&self, plural: &str, namespace: Option<&str>) -> Value {
        list_of(
            plural,
            &self.list(plural, namespace),
            &self.version.to_string(),
            "",
        )
    }
}

/// Returns a list of these objects.
pub(crate) fn list_of(plural: &str, items: &[Value], version: &str, next: &str) -> Value {
    let (api_version, kind) = types(plural);
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), json!(version));
    if !next.is_empty() {
        metadata.insert("continue".into(), json!(next));
    }
    json!({"apiVersion": api_version, "kind": format!("{kind}List"), "metadata": metadata, "items": items})
}
