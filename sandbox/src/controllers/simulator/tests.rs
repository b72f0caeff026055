use std::time::Duration;

use serde_json::{Value, json};

use super::object::{condition, deployments, number, pods, replica_sets};
use crate::Sandbox;
use crate::api::{DeleteOptions, Handle};
use crate::meta;

struct World {
    handle: Handle,
    _sandbox: Sandbox,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
        Self {
            handle: Handle::new(sandbox.core(), "test"),
            _sandbox: sandbox,
        }
    }

    async fn with(replicas: i64, image: &str) -> Self {
        let world = Self::new();
        let object = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    // A Pod gets a name of its own in any case.
                    "metadata": {"name": "fixed", "labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "c", "image": image}]},
                },
            },
        });
        world.handle.create(&deployments(), object).unwrap();
        world.pass(10).await;
        world
    }

    async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    fn deployment(&self) -> Value {
        let object = self.handle.get(&deployments(), Some("default"), "web");
        Value::clone(&object.unwrap())
    }

    fn change(&self, change: impl FnMut(&mut Value)) {
        let changed = self
            .handle
            .update(&deployments(), Some("default"), "web", "", change);
        changed.unwrap();
    }

    fn set_image(&self, image: &str) {
        self.change(|object| {
            object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        });
    }

    /// Images and phases of all Pods, sorted.
    fn pods(&self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = self
            .handle
            .list(&pods(), None)
            .iter()
            .map(|pod| {
                let image = pod["spec"]["containers"][0]["image"].as_str().unwrap();
                let phase = pod["status"]["phase"].as_str().unwrap();
                (image.to_owned(), phase.to_owned())
            })
            .collect();
        all.sort();
        all
    }

    fn sets(&self) -> usize {
        self.handle.list(&replica_sets(), None).len()
    }
}

fn running(image: &str, count: usize) -> Vec<(String, String)> {
    vec![(image.to_owned(), "Running".to_owned()); count]
}

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_ready() {
    let world = World::with(3, "nginx:1").await;
    let object = world.deployment();
    for name in [
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
    ] {
        assert_eq!(object["status"][name], 3, "{name}");
    }
    assert!(object["status"].get("unavailableReplicas").is_none());
    assert_eq!(
        object["status"]["observedGeneration"],
        object["metadata"]["generation"]
    );
    assert_eq!(object["metadata"]["generation"], 1);
    assert_eq!(condition(&object, "Available").unwrap()["status"], "True");
    let progressing = condition(&object, "Progressing").unwrap();
    assert_eq!(progressing["reason"], "NewReplicaSetAvailable");
    assert_eq!(world.pods(), running("nginx:1", 3));
}

#[tokio::test(start_paused = true)]
async fn a_new_template_replaces_every_pod() {
    let world = World::with(3, "nginx:1").await;
    world.set_image("nginx:2");
    world.pass(60).await;
    assert_eq!(world.pods(), running("nginx:2", 3));
    assert_eq!(world.sets(), 2);
    let object = world.deployment();
    assert_eq!(
        object["metadata"]["annotations"][super::object::REVISION],
        "2"
    );
    // Back to the first image: the first ReplicaSet is used again.
    world.set_image("nginx:1");
    world.pass(60).await;
    assert_eq!(world.pods(), running("nginx:1", 3));
    assert_eq!(world.sets(), 2);
}

#[tokio::test(start_paused = true)]
async fn recreate_replaces_every_pod_too() {
    let world = World::with(2, "nginx:1").await;
    world.change(|object| {
        object["spec"]["strategy"] = json!({"type": "Recreate"});
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
    });
    world.pass(60).await;
    assert_eq!(world.pods(), running("nginx:2", 2));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_scales_up_and_down() {
    let world = World::with(1, "nginx:1").await;
    world.change(|object| object["spec"]["replicas"] = json!(4));
    world.pass(10).await;
    assert_eq!(number(&world.deployment(), "/status/readyReplicas"), 4);
    world.change(|object| object["spec"]["replicas"] = json!(0));
    world.pass(10).await;
    assert!(world.pods().is_empty());
    assert_eq!(world.sets(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_paused_deployment_scales_and_does_not_roll() {
    let world = World::with(2, "nginx:1").await;
    world.change(|object| {
        object["spec"]["paused"] = json!(true);
        object["spec"]["replicas"] = json!(3);
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
    });
    world.pass(60).await;
    assert_eq!(world.pods(), running("nginx:1", 3));
    world.change(|object| object["spec"]["paused"] = json!(false));
    world.pass(60).await;
    assert_eq!(world.pods(), running("nginx:2", 3));
}

#[tokio::test(start_paused = true)]
async fn an_image_that_cannot_be_pulled_stops_the_roll_out_and_the_old_pods_stay() {
    let world = World::with(4, "nginx:1").await;
    world.set_image("registry.invalid/nginx:2");
    world.pass(100).await;
    let object = world.deployment();
    assert_eq!(number(&object, "/status/availableReplicas"), 3);
    let waiting = "/status/containerStatuses/0/state/waiting/reason";
    let broken = world.handle.list(&pods(), None);
    let broken: Vec<_> = broken
        .iter()
        .filter(|pod| pod["status"]["phase"] == "Pending")
        .collect();
    assert_eq!(broken.len(), 2);
    assert!(
        broken
            .iter()
            .all(|pod| pod.pointer(waiting) == Some(&json!("ImagePullBackOff")))
    );
    world.pass(600).await;
    let object = world.deployment();
    let progressing = condition(&object, "Progressing").unwrap();
    assert_eq!(progressing["reason"], "ProgressDeadlineExceeded");
    world.set_image("nginx:3");
    world.pass(60).await;
    assert_eq!(world.pods(), running("nginx:3", 4));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_is_replaced() {
    let world = World::with(2, "nginx:1").await;
    let first = world.handle.list(&pods(), None).remove(0);
    let options = DeleteOptions::default();
    let deleted = world
        .handle
        .delete(&pods(), Some("default"), meta::name(&first), &options);
    deleted.unwrap();
    world.pass(10).await;
    assert_eq!(world.pods(), running("nginx:1", 2));
    let gone = world
        .handle
        .get(&pods(), Some("default"), meta::name(&first));
    assert!(gone.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_deployment_takes_its_replica_sets_and_pods_along() {
    let world = World::with(2, "nginx:1").await;
    let options = DeleteOptions::default();
    let deleted = world
        .handle
        .delete(&deployments(), Some("default"), "web", &options);
    deleted.unwrap();
    world.pass(10).await;
    assert!(world.pods().is_empty());
    assert_eq!(world.sets(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_after_the_roll_out_is_complete() {
    let world = World::with(2, "nginx:1").await;
    let version = world.handle.version();
    // Less than an hour, after which the Events end.
    world.pass(3_000).await;
    assert_eq!(world.handle.version(), version);
}

#[tokio::test(start_paused = true)]
async fn a_replication_controller_keeps_the_number_of_its_pods() {
    let world = World::new();
    let labels = json!({"app": "old"});
    let controllers = super::object::replication_controllers();
    let object = json!({
        "metadata": {"name": "old", "namespace": "default"},
        "spec": {"replicas": 2, "selector": labels, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
        }},
    });
    world.handle.create(&controllers, object).unwrap();
    world.pass(5).await;
    let get = || {
        world
            .handle
            .get(&controllers, Some("default"), "old")
            .unwrap()
    };
    let status = json!({
        "replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        "observedGeneration": 1,
    });
    assert_eq!(get()["status"], status);
    let scale = |object: &mut Value| object["spec"]["replicas"] = json!(1);
    let changed = world
        .handle
        .update(&controllers, Some("default"), "old", "", scale);
    changed.unwrap();
    world.pass(5).await;
    assert_eq!(world.pods(), running("nginx:1", 1));
}
