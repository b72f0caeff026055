use serde_json::{Value, json};

use crate::api::{DeleteOptions, Handle};
use crate::controllers::simulator::object::{condition, deployments, replica_sets};
use crate::controllers::simulator::world::World;
use crate::meta;
use crate::registry::GroupResource;

fn deployment(replicas: i64) -> Value {
    json!({
        "metadata": {
            "name": "web", "namespace": "default",
            "annotations": {
                "kubernetes.io/change-cause": "first",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
            },
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
            },
        },
    })
}

fn set_image(world: &World, image: &str, cause: &str) {
    world.change(&deployments(), "web", |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        object["metadata"]["annotations"]["kubernetes.io/change-cause"] = json!(cause);
    });
}

/// The annotations of the ReplicaSet with this image.
fn annotations(world: &World, image: &str) -> Value {
    let sets = world.handle.list(&replica_sets(), None);
    let mut of_image = sets
        .iter()
        .filter(|set| set["spec"]["template"]["spec"]["containers"][0]["image"] == image);
    of_image.next().unwrap()["metadata"]["annotations"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_has_the_annotations_of_its_deployment_and_its_revisions() {
    let world = World::new();
    world.create(&deployments(), deployment(2));
    world.pass(10).await;
    assert_eq!(
        annotations(&world, "nginx:1"),
        json!({
            "deployment.kubernetes.io/desired-replicas": "2",
            "deployment.kubernetes.io/max-replicas": "3",
            "deployment.kubernetes.io/revision": "1",
            "kubernetes.io/change-cause": "first",
        })
    );
    set_image(&world, "nginx:2", "second");
    world.pass(60).await;
    set_image(&world, "nginx:1", "third");
    world.pass(60).await;
    let second = annotations(&world, "nginx:2");
    assert_eq!(second["kubernetes.io/change-cause"], "second");
    assert_eq!(second["deployment.kubernetes.io/revision"], "2");
    let third = annotations(&world, "nginx:1");
    assert_eq!(third["kubernetes.io/change-cause"], "third");
    assert_eq!(third["deployment.kubernetes.io/revision"], "3");
    assert_eq!(third["deployment.kubernetes.io/revision-history"], "1");
    let own = &world.get(&deployments(), "web")["metadata"]["annotations"];
    assert_eq!(own["deployment.kubernetes.io/revision"], "3");
    world.change(&deployments(), "web", |object| {
        object["spec"]["replicas"] = json!(4)
    });
    world.pass(60).await;
    let scaled = annotations(&world, "nginx:1");
    assert_eq!(scaled["deployment.kubernetes.io/desired-replicas"], "4");
    assert_eq!(scaled["deployment.kubernetes.io/max-replicas"], "5");
}

#[tokio::test(start_paused = true)]
async fn a_deployment_tells_how_it_scales() {
    let world = World::new();
    world.create(&deployments(), deployment(1));
    world.pass(10).await;
    set_image(&world, "nginx:2", "second");
    world.pass(60).await;
    let sets = world.handle.list(&replica_sets(), None);
    let name = |image: &str| {
        let image_of =
            |set: &Value| set["spec"]["template"]["spec"]["containers"][0]["image"].clone();
        let set = sets.iter().find(|set| image_of(set) == image).unwrap();
        meta::name(set).to_owned()
    };
    let mut expected = [
        format!(
            "ScalingReplicaSet: Scaled up replica set {} from 0 to 1",
            name("nginx:1")
        ),
        format!(
            "ScalingReplicaSet: Scaled up replica set {} from 0 to 1",
            name("nginx:2")
        ),
        format!(
            "ScalingReplicaSet: Scaled down replica set {} from 1 to 0",
            name("nginx:1")
        ),
    ];
    expected.sort();
    assert_eq!(world.events("web"), expected);
}

/// Refuses ReplicaSets until the binding is deleted.
fn refuse_sets(handle: &Handle) -> GroupResource {
    let admission = |plural: &str| GroupResource::new("admissionregistration.k8s.io", plural);
    let policy = json!({
        "matchConstraints": {"resourceRules": [{
            "operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["replicasets"],
        }]},
        "validations": [{"expression": "false", "message": "no sets"}],
    });
    let bound = json!({"policyName": "rules", "validationActions": ["Deny"]});
    let bindings = admission("validatingadmissionpolicybindings");
    for (resource, spec) in [
        (admission("validatingadmissionpolicies"), policy),
        (bindings.clone(), bound),
    ] {
        let object = json!({"metadata": {"name": "rules"}, "spec": spec});
        handle.create(&resource, object).unwrap();
    }
    bindings
}

#[tokio::test(start_paused = true)]
async fn a_refused_replica_set_is_reported_and_tried_again() {
    let world = World::new();
    let bindings = refuse_sets(&world.handle);
    world.create(&deployments(), deployment(1));
    world.pass(1).await;
    let events = world.events("web");
    assert_eq!(events.len(), 1);
    assert!(
        events[0].starts_with("ReplicaSetCreateError: Failed to create new replica set \"web-"),
        "{events:?}"
    );
    let object = world.get(&deployments(), "web");
    let progressing = condition(&object, "Progressing").unwrap();
    assert_eq!(
        (&progressing["status"], &progressing["reason"]),
        (&json!("False"), &json!("ReplicaSetCreateError"))
    );
    let options = DeleteOptions::default();
    world
        .handle
        .delete(&bindings, None, "rules", &options)
        .unwrap();
    world.pass(20).await;
    assert_eq!(world.count("Running"), 1);
    let object = world.get(&deployments(), "web");
    let progressing = condition(&object, "Progressing").unwrap();
    assert_eq!(progressing["reason"], "NewReplicaSetAvailable");
}
