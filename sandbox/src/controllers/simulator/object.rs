//! Access to fields, for all simulated controllers.

use serde_json::{Value, json};

use crate::meta;
use crate::registry::GroupResource;

pub(super) fn deployments() -> GroupResource {
    GroupResource::new("apps", "deployments")
}

pub(super) fn replica_sets() -> GroupResource {
    GroupResource::new("apps", "replicasets")
}

pub(super) fn pods() -> GroupResource {
    GroupResource::new("", "pods")
}

pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    let number = object.pointer(pointer).and_then(Value::as_i64);
    number.unwrap_or_default()
}

/// The managing owner of an object: kind, name and UID.
pub(super) fn controller(object: &Value) -> Option<(&str, &str, &str)> {
    let references = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = references
        .iter()
        .find(|owner| owner["controller"] == true)?;
    Some((
        owner["kind"].as_str()?,
        owner["name"].as_str()?,
        owner["uid"].as_str()?,
    ))
}

pub(super) fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    controller(object).is_some_and(|(_, _, uid)| uid == meta::uid(owner))
}

/// The reference that makes `owner` the managing owner of an object.
pub(super) fn controller_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta::name(owner),
        "uid": meta::uid(owner),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

pub(super) fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == name)
}

pub(super) fn is_true(object: &Value, name: &str) -> bool {
    condition(object, name).is_some_and(|condition| condition["status"] == "True")
}

/// Sets a count, or removes it if it is zero, because servers leave zeros out.
pub(super) fn set_count(status: &mut Value, name: &str, count: i64) {
    let Some(fields) = status.as_object_mut() else {
        return;
    };
    if count == 0 {
        fields.remove(name);
    } else {
        fields.insert(name.to_owned(), count.into());
    }
}

/// The annotation with the revision of a ReplicaSet.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";

/// The revision of a ReplicaSet.
pub(super) fn revision(set: &Value) -> i64 {
    let annotation = set["metadata"]["annotations"][REVISION].as_str();
    annotation
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}
