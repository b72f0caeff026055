//! Volumes: a PersistentVolumeClaim is bound to a volume of its own, as if a provisioner had made it.

use std::time::Duration;

use serde_json::{Value, json};

use super::object::{claims, update};
use crate::api::Handle;
use crate::meta;

/// Binds a claim, and gives a bound one the size that it asks for.
pub(super) fn bind(handle: &Handle, claim: &Value) -> Option<Duration> {
    // The empty class asks for a volume that somebody else has made.
    let foreign = claim["spec"]["storageClassName"] == "" && claim["spec"]["volumeName"].is_null();
    if foreign || meta::is_deleting(claim) {
        return None;
    }
    let volume = format!("pvc-{}", meta::uid(claim));
    update(handle, &claims(), claim, "", |claim| {
        if claim["spec"]["volumeName"].is_null() {
            claim["spec"]["volumeName"] = json!(volume);
        }
        let annotations = &mut claim["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        for name in ["bind-completed", "bound-by-controller"] {
            annotations[format!("pv.kubernetes.io/{name}")] = json!("yes");
        }
    });
    update(handle, &claims(), claim, "status", |claim| {
        let spec = claim["spec"].clone();
        let status = &mut claim["status"];
        status["phase"] = json!("Bound");
        status["accessModes"] = spec["accessModes"].clone();
        status["capacity"] = json!({"storage": spec["resources"]["requests"]["storage"]});
    });
    None
}

/// Why a Pod cannot be bound to a node because of its claims.
pub(super) fn unbound(handle: &Handle, pod: &Value) -> Option<String> {
    let namespace = meta::text(pod, "namespace");
    names(pod).find_map(|name| {
        let claim = handle.get(&claims(), Some(namespace), name);
        match claim {
            None => Some(format!("persistentvolumeclaim {name:?} not found")),
            Some(claim) if meta::is_deleting(&claim) => {
                Some(format!("persistentvolumeclaim {name:?} is being deleted"))
            }
            Some(claim) if claim["status"]["phase"] != "Bound" => {
                Some("pod has unbound immediate PersistentVolumeClaims".to_owned())
            }
            Some(_) => None,
        }
    })
}

/// The names of the claims that a Pod mounts.
pub(super) fn names(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    volumes
        .into_iter()
        .flatten()
        .filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::claims;
    use crate::controllers::simulator::object::{condition, pods};
    use crate::controllers::simulator::world::World;
    use crate::meta;

    fn claim(spec: &Value) -> Value {
        let mut claim = json!({
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        });
        for (field, value) in spec.as_object().unwrap() {
            claim["spec"][field] = value.clone();
        }
        claim
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_is_bound_to_a_volume_of_its_own() {
        let world = World::new();
        world.create(&claims(), claim(&json!({})));
        world.pass(1).await;
        let bound = world.get(&claims(), "data");
        let volume = format!("pvc-{}", meta::uid(&bound));
        assert_eq!(bound["spec"]["volumeName"], volume);
        let status = json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}});
        assert_eq!(bound["status"], status);
        let size = "/spec/resources/requests/storage";
        world.change(&claims(), "data", |claim| {
            *claim.pointer_mut(size).unwrap() = json!("2Gi")
        });
        world.pass(1).await;
        assert_eq!(
            world.get(&claims(), "data")["status"]["capacity"]["storage"],
            "2Gi"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_without_a_class_waits_for_a_volume() {
        let world = World::new();
        world.create(&claims(), claim(&json!({"storageClassName": ""})));
        world.pass(1).await;
        assert_eq!(world.get(&claims(), "data")["status"]["phase"], "Pending");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_waits_for_its_claim() {
        let world = World::new();
        let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
        world.create(
            &pods(),
            json!({
                "metadata": {"name": "one", "namespace": "default"},
                "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes},
            }),
        );
        world.pass(5).await;
        let pod = world.get(&pods(), "one");
        let scheduled = condition(&pod, "PodScheduled").unwrap();
        assert_eq!(
            (&scheduled["status"], &scheduled["reason"]),
            (&json!("False"), &json!("Unschedulable"))
        );
        assert_eq!(
            scheduled["message"],
            "0/1 nodes are available: persistentvolumeclaim \"data\" not found."
        );
        world.create(&claims(), claim(&json!({})));
        world.pass(1).await;
        assert_eq!(world.count("Running"), 1);
    }
}
