//! The Events of Pods, and what keeps their containers from being created and from being ready.

use std::time::Duration;

use serde_json::{Value, json};

use crate::controllers::simulator::events::events;
use crate::controllers::simulator::object::{condition, is_true, pods};
use crate::controllers::simulator::world::World;
use crate::meta;
use crate::registry::GroupResource;

fn pod(container: &Value) -> Value {
    let mut main = json!({"name": "main", "image": "nginx:1"});
    for (field, value) in container.as_object().unwrap() {
        main[field] = value.clone();
    }
    json!({"metadata": {"name": "one", "namespace": "default"}, "spec": {"containers": [main]}})
}

async fn world(container: Value) -> World {
    let world = World::new();
    world.create(&pods(), pod(&container));
    world.pass(2).await;
    world
}

impl World {
    fn event(&self, reason: &str) -> Value {
        let all = self.handle.list(&events(), None);
        let of = |event: &&std::sync::Arc<Value>| event["reason"] == reason;
        Value::clone(all.iter().find(of).unwrap())
    }

    fn waiting(&self) -> Value {
        let pod = self.get(&pods(), "one");
        pod["status"]["containerStatuses"][0]["state"]["waiting"].clone()
    }
}

const PRESENT: &str =
    "Pulled: Container image \"nginx:1\" already present on machine and can be accessed by the pod";

#[tokio::test(start_paused = true)]
async fn a_pod_that_starts_and_ends_leaves_the_events_of_a_cluster() {
    let world = world(json!({})).await;
    let began = [
        "Created: Container created",
        PRESENT,
        "Scheduled: Successfully assigned default/one to sandbox",
        "Started: Container started",
    ];
    assert_eq!(world.events("one"), began);
    let event = world.event("Started");
    assert_eq!(
        event["source"],
        json!({"component": "kubelet", "host": "sandbox"})
    );
    assert_eq!(event["reportingComponent"], "kubelet");
    assert_eq!(event["reportingInstance"], "sandbox");
    assert_eq!(
        event["involvedObject"]["fieldPath"],
        "spec.containers{main}"
    );
    assert_eq!(event["count"], 1);
    let event = world.event("Scheduled");
    assert_eq!(event["action"], "Binding");
    assert_eq!(event["reportingComponent"], "default-scheduler");
    assert!(event["eventTime"].as_str().unwrap().ends_with('Z'));
    assert!(event["count"].is_null() && event["firstTimestamp"].is_null());
    world.delete(&pods(), "one", None);
    world.pass(1).await;
    let texts = world.events("one");
    assert!(
        texts.contains(&"Killing: Stopping container main".to_owned()),
        "{texts:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_image_is_pulled_if_its_policy_says_so_and_fails_with_a_back_off() {
    let world = world(json!({"imagePullPolicy": "Always"})).await;
    let texts = world.events("one");
    assert!(texts.contains(&"Pulling: Pulling image \"nginx:1\"".to_owned()));
    let pulled = "Pulled: Successfully pulled image \"nginx:1\" in 500ms (500ms including waiting). Image size: 50000000 bytes.";
    assert!(texts.contains(&pulled.to_owned()), "{texts:?}");
    let world = self::world(json!({"image": "registry.invalid/web"})).await;
    let failed = [
        "Failed: Error: ErrImagePull",
        "Failed: Failed to pull image \"registry.invalid/web\": failed to pull image \"registry.invalid/web\": no such host",
        "Pulling: Pulling image \"registry.invalid/web\"",
        "Scheduled: Successfully assigned default/one to sandbox",
    ];
    assert_eq!(world.events("one"), failed);
    world.pass(20).await;
    let texts = world.events("one");
    for text in [
        "BackOff: Back-off pulling image \"registry.invalid/web\"",
        "Failed: Error: ImagePullBackOff",
    ] {
        assert!(texts.contains(&text.to_owned()), "{texts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn equal_events_are_counted_and_their_number_is_limited() {
    let world = world(json!({})).await;
    world.sandbox.pods().of("one").crash_loop();
    world.pass(60).await;
    let created = world.event("Created")["count"].as_i64().unwrap();
    assert!(created > 2, "{created}");
    let pod = world.get(&pods(), "one");
    let text = format!(
        "Back-off restarting failed container main in pod one_default({})",
        meta::uid(&pod)
    );
    let event = world.event("BackOff");
    assert_eq!(event["message"], text);
    assert_eq!(event["type"], "Warning");
    world.pass(3_000).await;
    let all = world.handle.list(&events(), None);
    let of_node = all
        .iter()
        .filter(|event| event["source"]["component"] == "kubelet");
    let counted: i64 = of_node.map(|event| event["count"].as_i64().unwrap()).sum();
    // 25 at once, and one more after each 300 s.
    assert!((30..=25 + 10).contains(&counted), "{counted}");
}

#[tokio::test(start_paused = true)]
async fn a_readiness_probe_that_fails_leaves_an_event() {
    let world =
        world(json!({"readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 1}})).await;
    world.sandbox.pods().of("one").fail_readiness_probe();
    world.pass(10).await;
    assert!(!is_true(&world.get(&pods(), "one"), "Ready"));
    let event = world.event("Unhealthy");
    assert_eq!(event["message"], "Readiness probe failed: simulated");
    assert_eq!(
        event["involvedObject"]["fieldPath"],
        "spec.containers{main}"
    );
    let texts = world.events("one");
    assert!(!texts.iter().any(|text| text.starts_with("Killing")));
}

#[tokio::test(start_paused = true)]
async fn a_container_waits_for_what_its_environment_names() {
    let world = world(json!({
        "envFrom": [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "may", "optional": true}}],
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "login", "key": "word"}}}],
    }))
    .await;
    let why = |text: &str| json!({"reason": "CreateContainerConfigError", "message": text});
    assert_eq!(world.waiting(), why("configmap \"settings\" not found"));
    assert_eq!(world.get(&pods(), "one")["status"]["phase"], "Pending");
    let texts = world.events("one");
    let failed = "Failed: Error: configmap \"settings\" not found";
    assert!(
        texts.contains(&failed.to_owned()) && texts.contains(&PRESENT.to_owned()),
        "{texts:?}"
    );
    let create = |plural: &str, name: &str| {
        let object = json!({"metadata": {"name": name, "namespace": "default"}});
        world.create(&GroupResource::new("", plural), object);
    };
    create("configmaps", "settings");
    world.pass(3).await;
    assert_eq!(world.waiting(), why("secret \"login\" not found"));
    create("secrets", "login");
    world.pass(3).await;
    assert_eq!(
        world.waiting(),
        why("couldn't find key word in Secret default/login")
    );
    world.change(&GroupResource::new("", "secrets"), "login", |secret| {
        secret["data"] = json!({"word": "eA=="});
    });
    world.pass(3).await;
    assert!(is_true(&world.get(&pods(), "one"), "Ready"));
}

#[tokio::test(start_paused = true)]
async fn an_init_container_waits_for_its_environment_too() {
    let world = World::new();
    let mut pod = pod(&json!({}));
    pod["spec"]["initContainers"] = json!([{
        "name": "first", "image": "i", "envFrom": [{"secretRef": {"name": "login"}}],
    }]);
    world.create(&pods(), pod);
    world.pass(2).await;
    let first = || world.get(&pods(), "one")["status"]["initContainerStatuses"][0].clone();
    let waiting = &first()["state"]["waiting"];
    assert_eq!(waiting["reason"], "CreateContainerConfigError");
    let pod = world.get(&pods(), "one");
    let initialized = condition(&pod, "Initialized").unwrap();
    assert_eq!(
        initialized["message"],
        "containers with incomplete status: [first]"
    );
    let object = json!({"metadata": {"name": "login", "namespace": "default"}});
    world.create(&GroupResource::new("", "secrets"), object);
    world.pass(5).await;
    assert_eq!(first()["state"]["terminated"]["exitCode"], 0);
    assert!(is_true(&world.get(&pods(), "one"), "Ready"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_ready_when_its_readiness_gates_are_true() {
    let world = World::new();
    let mut pod = pod(&json!({}));
    pod["spec"]["readinessGates"] = json!([{"conditionType": "example.com/balanced"}]);
    world.create(&pods(), pod);
    world.pass(2).await;
    let found = |kind: &str| condition(&world.get(&pods(), "one"), kind).unwrap().clone();
    assert_eq!(found("ContainersReady")["status"], "True");
    let ready = found("Ready");
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("ReadinessGatesNotReady"))
    );
    assert_eq!(
        ready["message"],
        "corresponding condition of pod readiness gate \"example.com/balanced\" does not exist."
    );
    let set = |status: &str| {
        let changed = world
            .handle
            .update(&pods(), Some("default"), "one", "status", |pod| {
                let conditions = pod["status"]["conditions"].as_array_mut().unwrap();
                conditions.retain(|one| one["type"] != "example.com/balanced");
                conditions.push(json!({"type": "example.com/balanced", "status": status}));
            });
        changed.unwrap();
    };
    set("False");
    world.pass(1).await;
    assert_eq!(
        found("Ready")["message"],
        "the status of pod readiness gate \"example.com/balanced\" is not \"True\", but False"
    );
    set("True");
    world.pass(1).await;
    assert_eq!(found("Ready")["status"], "True");
    set("Unknown");
    world.pass(1).await;
    assert_eq!(found("Ready")["status"], "False");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_not_ready_says_which_containers_are_not() {
    let world = world(json!({})).await;
    world
        .sandbox
        .pods()
        .of("one")
        .exit_after(Duration::from_secs(1), 1);
    world.pass(2).await;
    let pod = world.get(&pods(), "one");
    for kind in ["Ready", "ContainersReady"] {
        let message = &condition(&pod, kind).unwrap()["message"];
        assert_eq!(message, "containers with unready status: [main]");
    }
}
