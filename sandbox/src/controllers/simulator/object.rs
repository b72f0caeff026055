//! Access to fields, for all simulated controllers.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::Handle;
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

pub(super) fn jobs() -> GroupResource {
    GroupResource::new("batch", "jobs")
}

pub(super) fn cron_jobs() -> GroupResource {
    GroupResource::new("batch", "cronjobs")
}

pub(super) fn stateful_sets() -> GroupResource {
    GroupResource::new("apps", "statefulsets")
}

pub(super) fn daemon_sets() -> GroupResource {
    GroupResource::new("apps", "daemonsets")
}

pub(super) fn replication_controllers() -> GroupResource {
    GroupResource::new("", "replicationcontrollers")
}

pub(super) fn nodes() -> GroupResource {
    GroupResource::new("", "nodes")
}

pub(super) fn services() -> GroupResource {
    GroupResource::new("", "services")
}

pub(super) fn claims() -> GroupResource {
    GroupResource::new("", "persistentvolumeclaims")
}

pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    let number = object.pointer(pointer).and_then(Value::as_i64);
    number.unwrap_or_default()
}

/// The reference to the managing owner of an object.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let references = object.pointer("/metadata/ownerReferences")?.as_array()?;
    references.iter().find(|owner| owner["controller"] == true)
}

/// The managing owner of an object, if it is of a served kind and exists.
pub(super) fn owner_of(handle: &Handle, object: &Value) -> Option<Arc<Value>> {
    let owner = controller(object)?;
    let resource = resource_of(handle, owner)?;
    let namespace = meta::text(object, "namespace");
    let name = owner["name"].as_str()?;
    let found = handle.get(&resource, Some(namespace), name);
    let found = found.or_else(|| handle.get(&resource, None, name))?;
    (meta::uid(&found) == owner["uid"]).then_some(found)
}

/// The names of a Pod and of its owners, each of whose owners counts as one, too.
pub(super) fn names_of(handle: &Handle, pod: &Value) -> Vec<String> {
    let mut names = vec![meta::name(pod).to_owned()];
    let mut object = Arc::new(pod.clone());
    // No chain of owners is this long, unless it is a circle.
    for _ in 0..8 {
        let name = controller(&object).and_then(|owner| owner["name"].as_str());
        names.extend(name.map(str::to_owned));
        let Some(owner) = owner_of(handle, &object) else {
            break;
        };
        object = owner;
    }
    names
}

/// The resource that `apiVersion` and `kind` of an owner reference name.
pub(super) fn resource_of(handle: &Handle, reference: &Value) -> Option<GroupResource> {
    let version = reference["apiVersion"].as_str()?;
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let registry = handle.core().registry();
    let kind = registry.find_kind(group, version, reference["kind"].as_str()?)?;
    Some(kind.group_resource())
}

/// How long ago a time in an object is. `None` if it is not a time.
pub(super) fn since(handle: &Handle, time: &Value) -> Option<Duration> {
    let time: Timestamp = time.as_str()?.parse().ok()?;
    let age = handle.core().clock.now().duration_since(time);
    Some(Duration::try_from(age).unwrap_or_default())
}

/// A hash of a text (FNV-1a).
pub(super) fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Letters of a hash: no vowels, so that no words appear.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A hash of a text for a name: ten letters.
pub(super) fn hash_name(text: &str) -> String {
    let mut hash = fnv(text);
    let mut name = String::new();
    for _ in 0..10 {
        let at = usize::try_from(hash % 27).unwrap_or_default();
        name.extend(LETTERS.get(at).copied().map(char::from));
        hash /= 27;
    }
    name
}

pub(super) fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    controller(object).is_some_and(|reference| reference["uid"] == meta::uid(owner))
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

/// Changes an object or one of its subresources, if it still is the same object. An error is only logged: whatever refuses
/// the write changes the object too, which is a reason to look again.
pub(super) fn update(
    handle: &Handle,
    resource: &GroupResource,
    object: &Value,
    subresource: &str,
    mut change: impl FnMut(&mut Value),
) {
    let uid = meta::uid(object);
    let (namespace, name) = (meta::text(object, "namespace"), meta::name(object));
    let place = Some(namespace).filter(|namespace| !namespace.is_empty());
    let changed = handle.update(resource, place, name, subresource, |object| {
        // Another object may have the name by now.
        if meta::uid(object) == uid {
            change(object);
        }
    });
    if let Err(error) = changed {
        tracing::debug!(%resource, %namespace, %name, %error, "the simulator cannot write the object");
    }
}
