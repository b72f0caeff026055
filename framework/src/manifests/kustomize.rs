//! A folder for Kustomize: a base, components that change it, and an overlay for each component.
//!
//! A component is the difference between two outputs: the objects that only the other one has, and a patch for each object that
//! differs. So what a component changes is decided only where the objects are made.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Files, files::own_place};
use crate::resource::to_yaml;

/// The component for an operator that works only in the namespace of its pods.
pub(crate) const ONE_NAMESPACE: &str = "one-namespace";
/// The component with the objects for monitoring.
pub(crate) const MONITORING: &str = "monitoring";

/// The files of the base, and of each component and overlay for a variant of it.
pub(crate) fn files(
    operator: &str,
    base: &[Value],
    variants: &[(&str, Vec<Value>)],
) -> Result<Files, serde_json::Error> {
    let mut files = Files::new();
    let mut resources = Vec::new();
    for (name, objects) in by_file(base) {
        files.insert(format!("base/{name}"), to_yaml(objects)?);
        resources.push(name.to_owned());
    }
    let kustomization = kustomization("Kustomization", &resources, "", &[]);
    files.insert("base/kustomization.yaml".into(), kustomization);
    for (name, variant) in variants {
        let (added, patches) = difference(base, variant)?;
        let folder = format!("components/{name}");
        let mut resources = Vec::new();
        if !added.is_empty() {
            files.insert(format!("{folder}/{operator}.yaml"), to_yaml(added)?);
            resources.push(format!("{operator}.yaml"));
        }
        files.insert(
            format!("{folder}/kustomization.yaml"),
            self::kustomization("Component", &resources, &patches, &[]),
        );
        let components = [format!("../../components/{name}")];
        files.insert(
            format!("overlays/{name}/kustomization.yaml"),
            self::kustomization("Kustomization", &["../../base".into()], "", &components),
        );
    }
    Ok(files)
}

/// The objects in files, in the order of installation.
fn by_file(objects: &[Value]) -> Vec<(&'static str, Vec<&Value>)> {
    let mut files: Vec<(&str, Vec<&Value>)> = Vec::new();
    for object in objects {
        let name = super::files::file_of(object);
        match files.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(object),
            None => files.push((name, vec![object])),
        }
    }
    files
}

fn kustomization(kind: &str, resources: &[String], patches: &str, components: &[String]) -> String {
    let version = match kind {
        "Component" => "v1alpha1",
        _ => "v1beta1",
    };
    let mut text = format!("apiVersion: kustomize.config.k8s.io/{version}\nkind: {kind}\n");
    for (key, names) in [("components", components), ("resources", resources)] {
        if names.is_empty() {
            continue;
        }
        text += &format!("{key}:\n");
        for name in names {
            text += &format!("- {name}\n");
        }
        text += &own_place("#", key, "");
    }
    text += patches;
    text += &own_place(
        "#",
        if patches.is_empty() {
            "settings"
        } else {
            "patches"
        },
        "",
    );
    text
}

/// The objects that only `variant` has, and the patches that make the rest of `base` equal to it, as the text of a kustomization.
fn difference(
    base: &[Value],
    variant: &[Value],
) -> Result<(Vec<Value>, String), serde_json::Error> {
    let by_identity = |objects: &[Value]| -> BTreeMap<Identity, Value> {
        let pairs = objects.iter();
        pairs.map(|one| (Identity::of(one), one.clone())).collect()
    };
    let (old, new) = (by_identity(base), by_identity(variant));
    let mut patches = String::new();
    for (identity, before) in &old {
        match new.get(identity) {
            Some(after) => {
                let mut operations = Vec::new();
                compare(before, after, "", &mut operations);
                if !operations.is_empty() {
                    let text = to_yaml([Value::Array(operations)])?;
                    patches += &patch(Some(identity), &text)?;
                }
            }
            None => {
                let mut object = Map::new();
                object.insert("$patch".into(), "delete".into());
                for key in ["apiVersion", "kind"] {
                    object.insert(key.into(), before[key].clone());
                }
                let mut metadata = Map::new();
                for key in ["name", "namespace"] {
                    if let Some(value) = before["metadata"].get(key) {
                        metadata.insert(key.into(), value.clone());
                    }
                }
                object.insert("metadata".into(), metadata.into());
                patches += &patch(None, &to_yaml([Value::Object(object)])?)?;
            }
        }
    }
    let known: BTreeSet<&Identity> = old.keys().collect();
    let added = variant
        .iter()
        .filter(|one| !known.contains(&Identity::of(one)))
        .cloned()
        .collect();
    if !patches.is_empty() {
        patches.insert_str(0, "patches:\n");
    }
    Ok((added, patches))
}

/// An entry of the list of patches.
fn patch(target: Option<&Identity>, text: &str) -> Result<String, serde_json::Error> {
    let mut entry = String::from("- patch: |\n");
    for line in text.lines() {
        entry += &format!("    {line}\n");
    }
    if let Some(identity) = target {
        entry += "  target:\n";
        for line in to_yaml([identity.target()])?.lines() {
            entry += &format!("    {line}\n");
        }
    }
    Ok(entry)
}

/// What names an object in a kustomization.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    group: String,
    version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl Identity {
    fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let version = text(&object["apiVersion"]).unwrap_or_default();
        let (group, version) = match version.split_once('/') {
            Some((group, version)) => (group.to_owned(), version.to_owned()),
            None => (String::new(), version),
        };
        Self {
            group,
            version,
            kind: text(&object["kind"]).unwrap_or_default(),
            namespace: text(&object["metadata"]["namespace"]),
            name: text(&object["metadata"]["name"]).unwrap_or_default(),
        }
    }

    fn target(&self) -> Value {
        let mut target = json!({"version": self.version, "kind": self.kind, "name": self.name});
        if !self.group.is_empty() {
            target["group"] = json!(self.group);
        }
        if let Some(namespace) = &self.namespace {
            target["namespace"] = json!(namespace);
        }
        target
    }
}

/// Adds the operations of a JSON patch (RFC 6902) that make `old` equal to `new`. They change as little as possible, so that what a
/// kustomization changes elsewhere in the object, such as the image, stays.
fn compare(old: &Value, new: &Value, path: &str, operations: &mut Vec<Value>) {
    let mut push = |op: &str, path: &str, value: Option<&Value>| {
        let mut operation = json!({"op": op, "path": path});
        if let Some(value) = value {
            operation["value"] = value.clone();
        }
        operations.push(operation);
    };
    match (old, new) {
        _ if old == new => {}
        (Value::Object(before), Value::Object(after)) => {
            let below = |key: &str| format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
            for key in before.keys().filter(|key| !after.contains_key(*key)) {
                push("remove", &below(key), None);
            }
            for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                push("add", &below(key), Some(value));
            }
            for (key, value) in before {
                if let Some(other) = after.get(key) {
                    compare(value, other, &below(key), operations);
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if after.starts_with(before) => {
            for item in &after[before.len()..] {
                push("add", &format!("{path}/-"), Some(item));
            }
        }
        // Containers.
        (Value::Array(before), Value::Array(after)) if are_same_items(before, after) => {
            for (number, (item, other)) in before.iter().zip(after).enumerate() {
                compare(item, other, &format!("{path}/{number}"), operations);
            }
        }
        _ => push("replace", path, Some(new)),
    }
}

/// Whether both lists have items of the same names.
fn are_same_items(before: &[Value], after: &[Value]) -> bool {
    let mut pairs = before.iter().zip(after);
    before.len() == after.len()
        && pairs.all(|(one, other)| one["name"].is_string() && one["name"] == other["name"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_an_operation_for_each_key_and_item_that_differs() {
        let old = json!({"a": 1, "b/c": {"d": [1], "e~": 2}, "f": 3, "h": [1], "i": [{"name": "x", "y": 1}]});
        let new =
            json!({"a": 1, "b/c": {"d": [2], "g": 4}, "h": [1, 2], "i": [{"name": "x", "y": 2}]});
        let mut operations = Vec::new();
        compare(&old, &new, "", &mut operations);
        let expected = [
            json!({"op": "remove", "path": "/f"}),
            json!({"op": "remove", "path": "/b~1c/e~0"}),
            json!({"op": "add", "path": "/b~1c/g", "value": 4}),
            json!({"op": "replace", "path": "/b~1c/d", "value": [2]}),
            json!({"op": "add", "path": "/h/-", "value": 2}),
            json!({"op": "replace", "path": "/i/0/y", "value": 2}),
        ];
        assert_eq!(operations, expected);
    }
}
