//! Lets go of claims, volumes and attribute classes that are being deleted, once nothing uses them. Admission gives each of them a finalizer.

use std::sync::Arc;

use serde_json::Value;

use super::feed::{Feed, FeedEvent};
use crate::api::{Handle, PROTECTED};
use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

fn claims() -> GroupResource {
    GroupResource::new("", "persistentvolumeclaims")
}

/// Removes the finalizers of objects that nothing uses.
pub(crate) async fn release(core: Arc<Core>) {
    let handle = Handle::new(&core, "protection-controller");
    let protected = PROTECTED.map(|(group, plural, _)| GroupResource::new(group, plural));
    let mut followed = protected.to_vec();
    followed.push(GroupResource::new("", "pods"));
    let mut feed = Feed::new(&handle, Some(followed));
    loop {
        let events = feed.next().await;
        if !events.iter().any(is_reason) {
            continue;
        }
        for (resource, (_, _, finalizer)) in protected.iter().zip(PROTECTED) {
            for object in handle.list(resource, None) {
                let held = meta::finalizers(&object).contains(&finalizer);
                if held && meta::is_deleting(&object) && !is_used(&handle, resource, &object) {
                    free(&handle, resource, &object, finalizer);
                }
            }
        }
    }
}

/// Whether something may have become unused or is to be deleted.
fn is_reason(event: &FeedEvent) -> bool {
    match event {
        FeedEvent::Put { resource, object } => {
            resource.resource != "pods" && meta::is_deleting(&object.value())
        }
        FeedEvent::Gone { resource, object } => {
            resource.resource != "pods" || claim_names(&object.value()).next().is_some()
        }
        FeedEvent::Kinds => false,
    }
}

fn claim_names(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    let volumes = volumes.into_iter().flatten();
    volumes.filter_map(|volume| {
        let name = volume.pointer("/persistentVolumeClaim/claimName")?;
        name.as_str()
    })
}

fn is_used(handle: &Handle, resource: &GroupResource, object: &Value) -> bool {
    let name = meta::name(object);
    let text = |object: &Value, pointer: &str| {
        let text = object.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    match resource.resource.as_str() {
        // A Pod that has ended uses its claims, and one that has no node does not.
        "persistentvolumeclaims" => {
            let pods = GroupResource::new("", "pods");
            let pods = handle.list(&pods, Some(meta::text(object, "namespace")));
            pods.iter().any(|pod| {
                !text(pod, "/spec/nodeName").is_empty()
                    && claim_names(pod).any(|claim| claim == name)
            })
        }
        "persistentvolumes" => text(object, "/status/phase") == "Bound",
        _ => {
            let fields = [
                "/spec/volumeAttributesClassName",
                "/status/currentVolumeAttributesClassName",
                "/status/modifyVolumeStatus/targetVolumeAttributesClassName",
            ];
            let volumes = handle.list(&GroupResource::new("", "persistentvolumes"), None);
            let mut users = handle.list(&claims(), None);
            users.extend(volumes);
            users
                .iter()
                .any(|user| fields.iter().any(|field| text(user, field) == name))
        }
    }
}

fn free(handle: &Handle, resource: &GroupResource, object: &Value, finalizer: &str) {
    let namespace = Some(meta::text(object, "namespace")).filter(|name| !name.is_empty());
    let uid = meta::uid(object);
    let freed = handle.update(resource, namespace, meta::name(object), "", |object| {
        // Another object may have the name by now.
        if meta::uid(object) == uid {
            let rest = meta::finalizers(object).into_iter();
            let rest = rest.filter(|name| *name != finalizer).map(String::from);
            let rest = rest.collect();
            meta::set_finalizers(object, rest);
        }
    });
    if let Err(error) = freed {
        tracing::debug!(%resource, name = meta::name(object), %error, "cannot let go of an object that nothing uses");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Sandbox;
    use crate::api::DeleteOptions;

    #[tokio::test(start_paused = true)]
    async fn what_is_used_stays_until_nothing_uses_it() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let class = json!({"metadata": {"name": "gold"}, "driverName": "example.com", "parameters": {"iops": "1"}});
        let classes = GroupResource::new("storage.k8s.io", "volumeattributesclasses");
        handle.create(&classes, class).unwrap();
        let claim = json!({
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeAttributesClassName": "gold",
            },
        });
        let claim = handle.create(&claims(), claim).unwrap();
        assert_eq!(meta::finalizers(&claim), ["kubernetes.io/pvc-protection"]);
        let pod = json!({
            "metadata": {"name": "one", "namespace": "default"},
            "spec": {
                "containers": [{"name": "c", "image": "i"}], "nodeName": "n",
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
            },
        });
        let pods = GroupResource::new("", "pods");
        handle.create(&pods, pod).unwrap();
        let options = DeleteOptions::default();
        let pass = || tokio::time::sleep(std::time::Duration::from_secs(1));
        let all = || {
            let claim = handle.get(&claims(), Some("default"), "data");
            (
                claim.is_some(),
                handle.get(&classes, None, "gold").is_some(),
            )
        };
        handle
            .delete(&claims(), Some("default"), "data", &options)
            .unwrap();
        handle.delete(&classes, None, "gold", &options).unwrap();
        pass().await;
        assert_eq!(all(), (true, true));
        let now = DeleteOptions {
            grace_period: Some(0),
            ..options
        };
        handle.delete(&pods, Some("default"), "one", &now).unwrap();
        pass().await;
        assert_eq!(all(), (false, false));
    }
}
