//! The life of ephemeral containers, as their status and the Events of their Pod show it.

use serde_json::{Value, json};

use crate::controllers::simulator::object::{is_true, pods};
use crate::controllers::simulator::world::World;
use crate::registry::GroupResource;

/// A Pod that runs, with an ephemeral container that was added a moment ago.
async fn world(container: Value) -> World {
    let world = World::new();
    let spec = json!({"containers": [{"name": "main", "image": "nginx:1"}]});
    world.create(
        &pods(),
        json!({"metadata": {"name": "one", "namespace": "default"}, "spec": spec}),
    );
    world.pass(2).await;
    let mut debug = json!({"name": "debug", "image": "busybox:1"});
    for (field, value) in container.as_object().unwrap() {
        debug[field] = value.clone();
    }
    let added = world.handle.update(
        &pods(),
        Some("default"),
        "one",
        "ephemeralcontainers",
        |pod| pod["spec"]["ephemeralContainers"] = json!([debug]),
    );
    added.unwrap();
    world.pass_millis(100).await;
    world
}

impl World {
    fn ephemeral(&self) -> Value {
        self.get(&pods(), "one")["status"]["ephemeralContainerStatuses"][0].clone()
    }

    fn about_ephemeral(&self) -> Vec<String> {
        let mut events = self.events("one");
        events.retain(|text| !text.starts_with("Scheduled") && !text.contains("nginx:1"));
        events
    }
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_container_starts_beside_the_others_and_is_never_ready() {
    let world = world(json!({})).await;
    let waiting = json!({"waiting": {"reason": "ContainerCreating"}});
    assert_eq!(world.ephemeral()["state"], waiting);
    world.pass(1).await;
    let status = world.ephemeral();
    assert!(status["state"]["running"]["startedAt"].is_string());
    assert_eq!(
        (&status["image"], &status["imageID"], &status["ready"]),
        (&json!("busybox:1"), &json!("busybox:1"), &json!(false))
    );
    assert!(status["started"].is_null());
    let pod = world.get(&pods(), "one");
    assert!(is_true(&pod, "Ready"));
    assert_eq!(
        pod["status"]["containerStatuses"].as_array().unwrap().len(),
        1
    );
    let parts: Vec<Value> = world
        .handle
        .list(&GroupResource::new("", "events"), None)
        .iter()
        .map(|event| event["involvedObject"]["fieldPath"].clone())
        .filter(|part| part == "spec.ephemeralContainers{debug}")
        .collect();
    assert_eq!(parts.len(), 3, "Pulled, Created and Started");
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_container_ends_with_its_pod() {
    let world = world(json!({})).await;
    world.pass(1).await;
    world
        .sandbox
        .pods()
        .of("one")
        .exit_after(std::time::Duration::ZERO, 1);
    world.pass(2).await;
    assert!(
        world.ephemeral()["state"]["running"].is_object(),
        "the others start again"
    );
    world.delete(&pods(), "one", None);
    world.pass(1).await;
    let killed = "Killing: Stopping container debug".to_owned();
    assert!(world.about_ephemeral().contains(&killed));
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_container_has_terminated_when_its_pod_has_failed() {
    let world = World::new();
    let spec = json!({
        "containers": [{"name": "main", "image": "nginx:1"}], "restartPolicy": "Never", "activeDeadlineSeconds": 10,
    });
    world.create(
        &pods(),
        json!({"metadata": {"name": "one", "namespace": "default"}, "spec": spec}),
    );
    world.pass(2).await;
    let update = |pod: &mut Value| {
        pod["spec"]["ephemeralContainers"] = json!([{"name": "debug", "image": "busybox:1"}]);
    };
    let place = Some("default");
    let added = world
        .handle
        .update(&pods(), place, "one", "ephemeralcontainers", update);
    added.unwrap();
    world.pass(10).await;
    assert_eq!(world.get(&pods(), "one")["status"]["phase"], "Failed");
    assert_eq!(world.ephemeral()["state"]["terminated"]["exitCode"], 143);
}

#[tokio::test(start_paused = true)]
async fn the_image_of_an_ephemeral_container_may_be_missing() {
    let world = world(json!({"image": "registry.invalid/debug"})).await;
    world.pass(1).await;
    let reason = || world.ephemeral()["state"]["waiting"]["reason"].clone();
    assert_eq!(reason(), "ErrImagePull");
    world.pass(15).await;
    assert_eq!(reason(), "ImagePullBackOff");
    assert!(is_true(&world.get(&pods(), "one"), "Ready"));
    let events = world.about_ephemeral();
    let pulled = "BackOff: Back-off pulling image \"registry.invalid/debug\"".to_owned();
    assert!(events.contains(&pulled), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_container_waits_for_its_environment() {
    let from = json!([{"configMapRef": {"name": "settings"}}]);
    let world = world(json!({"envFrom": from})).await;
    world.pass(1).await;
    let waiting = json!({"reason": "CreateContainerConfigError", "message": "configmap \"settings\" not found"});
    assert_eq!(world.ephemeral()["state"]["waiting"], waiting);
    let map = json!({"metadata": {"name": "settings", "namespace": "default"}});
    world.create(&GroupResource::new("", "configmaps"), map);
    world.pass(3).await;
    assert!(world.ephemeral()["state"]["running"].is_object());
}
