//! Which objects a controller takes for its own, by its selector.

use std::sync::Arc;

use serde_json::{Value, json};

use super::object::{controller, controller_reference, update};
use crate::api::Handle;
use crate::builtin::selects;
use crate::meta;
use crate::registry::GroupResource;

/// Adopts objects without a controller that `owner` selects, and releases those of `owner` that it selects no longer, as the
/// `ControllerRefManager` of a real cluster does. An owner that is being deleted does neither. An adopted object gets `finalizer`, and a released
/// one loses it.
pub(super) fn claim(
    handle: &Handle,
    owner: &Value,
    (resource, objects): (&GroupResource, &[Arc<Value>]),
    finalizer: Option<&str>,
    selects: impl Fn(&Value) -> bool,
) {
    if meta::is_deleting(owner) {
        return;
    }
    for object in objects {
        match controller(object) {
            Some(reference) if reference["uid"] == meta::uid(owner) && !selects(object) => {
                release(handle, owner, resource, object, finalizer);
            }
            None if !meta::is_deleting(object) && selects(object) => {
                adopt(handle, owner, resource, object, finalizer);
            }
            // It stays what it is.
            _ => {}
        }
    }
}

/// Whether the selector of a workload selects an object. A selector without requirements selects nothing.
pub(super) fn is_selected(owner: &Value, object: &Value) -> bool {
    let given = &owner["spec"]["selector"];
    let selector = match owner["kind"] == "ReplicationController" {
        true => json!({"matchLabels": given}),
        false => given.clone(),
    };
    let requires = |value: &Value| match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    (requires(&selector["matchLabels"]) || requires(&selector["matchExpressions"]))
        && selects(&selector, &object["metadata"]["labels"])
}

fn adopt(
    handle: &Handle,
    owner: &Value,
    resource: &GroupResource,
    object: &Value,
    finalizer: Option<&str>,
) {
    let reference = controller_reference(owner);
    update(handle, resource, object, "", |object| {
        // Another controller may have been faster.
        if controller(object).is_some() {
            return;
        }
        let Some(metadata) = meta::fields(object) else {
            return;
        };
        let owners = metadata
            .entry("ownerReferences")
            .or_insert_with(|| json!([]));
        let Some(owners) = owners.as_array_mut() else {
            return;
        };
        owners.retain(|known| known["uid"] != reference["uid"]);
        owners.push(reference.clone());
        if let Some(finalizer) = finalizer {
            let mut all = without(object, finalizer);
            all.push(finalizer.to_owned());
            meta::set_finalizers(object, all);
        }
    });
}

fn release(
    handle: &Handle,
    owner: &Value,
    resource: &GroupResource,
    object: &Value,
    finalizer: Option<&str>,
) {
    let uid = meta::uid(owner);
    update(handle, resource, object, "", |object| {
        let owners = object.pointer_mut("/metadata/ownerReferences");
        if let Some(owners) = owners.and_then(Value::as_array_mut) {
            owners.retain(|known| known["uid"] != uid);
            if owners.is_empty() {
                meta::remove(object, "ownerReferences");
            }
        }
        if let Some(finalizer) = finalizer {
            let rest = without(object, finalizer);
            meta::set_finalizers(object, rest);
        }
    });
}

fn without(object: &Value, finalizer: &str) -> Vec<String> {
    let all = meta::finalizers(object).into_iter();
    all.filter(|known| *known != finalizer)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::Propagation;
    use crate::controllers::simulator::object::{
        daemon_sets, deployments, jobs, pods, replica_sets, stateful_sets,
    };
    use crate::controllers::simulator::world::World;

    fn workload(kind: &str, replicas: i64) -> Value {
        let mut object = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
                },
            },
        });
        match kind {
            "DaemonSet" => {}
            "StatefulSet" => {
                object["spec"]["replicas"] = json!(replicas);
                object["spec"]["serviceName"] = json!("web");
            }
            _ => object["spec"]["replicas"] = json!(replicas),
        }
        object
    }

    fn uids(world: &World) -> Vec<String> {
        let pods = world.pods();
        pods.iter().map(|pod| meta::uid(pod).to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_workload_adopts_what_its_predecessor_left() {
        for (kind, resource) in [
            ("Deployment", deployments()),
            ("ReplicaSet", replica_sets()),
            ("StatefulSet", stateful_sets()),
            ("DaemonSet", daemon_sets()),
        ] {
            let world = World::new();
            world.create(&resource, workload(kind, 1));
            world.pass(10).await;
            let before = uids(&world);
            assert_eq!(before.len(), 1, "{kind}");
            world.delete(&resource, "web", Some(Propagation::Orphan));
            world.pass(10).await;
            assert!(world.find(&resource, "web").is_none(), "{kind}");
            world.create(&resource, workload(kind, 1));
            world.pass(60).await;
            assert_eq!(uids(&world), before, "{kind}");
            let mut owner = world.pods().remove(0);
            while let Some(next) =
                crate::controllers::simulator::object::owner_of(&world.handle, &owner)
            {
                owner = next;
            }
            assert_eq!(owner["kind"], kind);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_loses_the_labels_is_released_and_replaced() {
        let world = World::new();
        world.create(&replica_sets(), workload("ReplicaSet", 1));
        world.pass(10).await;
        let first = meta::name(&world.pods()[0]).to_owned();
        world.change(&pods(), &first, |pod| {
            pod["metadata"]["labels"] = json!({"app": "debug"});
        });
        world.pass(10).await;
        let released = world.get(&pods(), &first);
        assert!(released["metadata"].get("ownerReferences").is_none());
        assert_eq!(world.pods().len(), 2);
        // With the labels it is one too many.
        world.change(&pods(), &first, |pod| {
            pod["metadata"]["labels"] = json!({"app": "web"});
        });
        world.pass(10).await;
        assert_eq!(world.pods().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_set_that_is_being_deleted_adopts_nothing() {
        let world = World::new();
        let mut set = workload("ReplicaSet", 1);
        set["metadata"]["finalizers"] = json!(["test/hold"]);
        world.create(&replica_sets(), set);
        world.pass(10).await;
        world.delete(&replica_sets(), "web", Some(Propagation::Background));
        let pod = json!({
            "metadata": {"name": "bare", "namespace": "default", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
        });
        world.create(&pods(), pod);
        world.pass(10).await;
        let bare = world.get(&pods(), "bare");
        assert!(bare["metadata"].get("ownerReferences").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_adopted_pod_of_a_job_is_tracked() {
        let world = World::new();
        let pod = json!({
            "metadata": {"name": "bare", "namespace": "default", "labels": {"app": "job"}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1"}], "restartPolicy": "Never"},
        });
        world.create(&pods(), pod);
        let job = json!({
            "metadata": {"name": "job", "namespace": "default"},
            "spec": {
                "manualSelector": true,
                "selector": {"matchLabels": {"app": "job"}},
                "template": {
                    "metadata": {"labels": {"app": "job"}},
                    "spec": {"containers": [{"name": "c", "image": "nginx:1"}], "restartPolicy": "Never"},
                },
            },
        });
        world.create(&jobs(), job);
        world.pass_millis(10).await;
        let bare = world.get(&pods(), "bare");
        assert_eq!(bare["metadata"]["ownerReferences"][0]["name"], "job");
        assert_eq!(
            meta::finalizers(&bare),
            ["batch.kubernetes.io/job-tracking"]
        );
        assert_eq!(world.pods().len(), 1);
    }
}
