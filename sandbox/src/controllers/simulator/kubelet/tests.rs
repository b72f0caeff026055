use std::time::Duration;

use serde_json::{Value, json};

use crate::controllers::simulator::object::{condition, deployments, is_true, number, pods};
use crate::controllers::simulator::world::World;

fn pod(restart: &str) -> Value {
    json!({
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": "nginx:1"}]},
    })
}

async fn world(restart: &str) -> World {
    let world = World::new();
    world.create(&pods(), pod(restart));
    world.pass(1).await;
    world
}

impl World {
    fn pod(&self) -> Value {
        self.get(&pods(), "one")
    }

    fn container(&self) -> Value {
        self.pod()["status"]["containerStatuses"][0].clone()
    }
}

#[tokio::test(start_paused = true)]
async fn containers_that_exit_start_again_with_a_growing_back_off() {
    let world = world("Always").await;
    assert!(is_true(&world.pod(), "Ready"));
    world
        .sandbox
        .pods()
        .of("one")
        .exit_after(Duration::from_secs(5), 7);
    // The time counts from the rule.
    world.pass_millis(4_900).await;
    assert!(is_true(&world.pod(), "Ready"));
    world.pass_millis(200).await;
    let container = world.container();
    assert_eq!(container["state"]["terminated"]["exitCode"], 7);
    assert_eq!(container["state"]["terminated"]["reason"], "Error");
    assert!(!is_true(&world.pod(), "Ready"));
    world.pass(2).await;
    let container = world.container();
    assert_eq!(container["restartCount"], 1);
    assert_eq!(container["lastState"]["terminated"]["exitCode"], 7);
    assert!(is_true(&world.pod(), "Ready"));
    world.pass(5).await;
    let container = world.container();
    let waiting = &container["state"]["waiting"];
    assert_eq!(waiting["reason"], "CrashLoopBackOff");
    let message = waiting["message"].as_str().unwrap();
    assert!(message.starts_with("back-off 10s restarting failed container=main pod=one_default("));
    assert_eq!(world.pod()["status"]["phase"], "Running");
    world.pass(10).await;
    assert_eq!(world.container()["restartCount"], 2);
    world.pass(6).await;
    let message = world.container()["state"]["waiting"]["message"].to_string();
    assert!(message.contains("back-off 20s"), "{message}");
    // Without the rule the next start lasts.
    world.sandbox.pods().of("one").recover();
    world.pass(20).await;
    assert!(is_true(&world.pod(), "Ready"));
    world.pass(1_000).await;
    assert_eq!(world.container()["restartCount"], 3);
}

#[tokio::test(start_paused = true)]
async fn the_restart_policy_says_whether_containers_start_again() {
    for (policy, code, phase) in [
        ("Never", 1, "Failed"),
        ("Never", 0, "Succeeded"),
        ("OnFailure", 0, "Succeeded"),
        ("OnFailure", 1, "Running"),
        ("Always", 0, "Running"),
    ] {
        let world = world(policy).await;
        world
            .sandbox
            .pods()
            .of("one")
            .times(1)
            .exit_after(Duration::ZERO, code);
        world.pass(10).await;
        let pod = world.pod();
        assert_eq!(pod["status"]["phase"], phase, "{policy} {code}");
        let restarts = number(&world.container(), "/restartCount");
        assert_eq!(restarts, i64::from(phase == "Running"), "{policy} {code}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_image_that_cannot_be_pulled_backs_off_until_the_rule_ends() {
    let world = World::new();
    world.sandbox.pods().of("one").fail_image_pull();
    world.create(&pods(), pod("Always"));
    world.pass(1).await;
    let reason = |world: &World| world.container()["state"]["waiting"]["reason"].clone();
    assert_eq!(reason(&world), "ErrImagePull");
    assert_eq!(world.pod()["status"]["phase"], "Pending");
    world.pass(30).await;
    assert_eq!(reason(&world), "ImagePullBackOff");
    world.sandbox.pods().of("one").recover();
    world.pass(1).await;
    assert!(is_true(&world.pod(), "Ready"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_never_ready_runs() {
    let world = world("Always").await;
    world.sandbox.pods().all().never_ready();
    world.pass(1).await;
    let pod = world.pod();
    assert_eq!(pod["status"]["phase"], "Running");
    assert!(!is_true(&pod, "Ready") && !is_true(&pod, "ContainersReady"));
    world.sandbox.pods().all().recover();
    world.pass(1).await;
    assert!(is_true(&world.pod(), "Ready"));
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_a_workload_holds_for_its_pods_only() {
    let world = world("Always").await;
    let labels = json!({"app": "web"});
    world.create(
        &deployments(),
        json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            }},
        }),
    );
    world
        .sandbox
        .pods()
        .of("web")
        .in_namespace("default")
        .never_ready();
    world.pass(10).await;
    let web = world.get(&deployments(), "web");
    assert_eq!(number(&web, "/status/updatedReplicas"), 2);
    assert_eq!(number(&web, "/status/readyReplicas"), 0);
    assert!(is_true(&world.pod(), "Ready"));
    world
        .sandbox
        .pods()
        .of("web")
        .in_namespace("default")
        .recover();
    world.pass(10).await;
    assert_eq!(
        number(&world.get(&deployments(), "web"), "/status/readyReplicas"),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_ends_at_its_own_deadline() {
    let world = World::new();
    let mut object = pod("Always");
    object["spec"]["activeDeadlineSeconds"] = json!(30);
    world.create(&pods(), object);
    world.pass(29).await;
    assert_eq!(world.count("Running"), 1);
    world.pass(2).await;
    assert_eq!(world.pod()["status"]["phase"], "Failed");
    assert_eq!(world.pod()["status"]["reason"], "DeadlineExceeded");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_deleted_while_it_waits_for_long_ends_at_once() {
    let world = world("Always").await;
    world
        .sandbox
        .pods()
        .of("one")
        .fail_after(Duration::from_secs(1_000));
    world.pass(1).await;
    world.delete(&pods(), "one", None);
    world.pass_millis(300).await;
    assert!(world.find(&pods(), "one").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_a_gate_waits_for_its_removal() {
    let world = World::new();
    let mut object = pod("Always");
    object["spec"]["schedulingGates"] = json!([{"name": "example.com/quota"}]);
    world.create(&pods(), object);
    world.pass(5).await;
    let pod = world.pod();
    assert!(pod["spec"].get("nodeName").is_none());
    assert_eq!(pod["status"]["conditions"][0]["reason"], "SchedulingGated");
}

/// A Pod with these init containers, whose container has these fields.
fn with(init: Value, fields: &Value) -> Value {
    let mut pod = pod("Always");
    pod["spec"]["initContainers"] = init;
    for (field, value) in fields.as_object().unwrap() {
        pod["spec"]["containers"][0][field] = value.clone();
    }
    pod
}

fn states(pod: &Value) -> Vec<(String, String)> {
    let statuses = pod["status"]["initContainerStatuses"].as_array();
    let statuses = statuses.into_iter().flatten();
    let text = |status: &Value| {
        let state = status["state"].as_object().unwrap();
        let name = status["name"].as_str().unwrap().to_owned();
        (name, state.keys().next().unwrap().clone())
    };
    statuses.map(text).collect()
}

fn state(name: &str, state: &str) -> (String, String) {
    (name.into(), state.into())
}

#[tokio::test(start_paused = true)]
async fn init_containers_run_one_after_the_other_before_the_others() {
    let world = World::new();
    let sidecar = json!({"name": "proxy", "image": "i", "restartPolicy": "Always", "startupProbe": {"exec": {"command": ["true"]}, "initialDelaySeconds": 2}});
    let init = json!([{"name": "first", "image": "i"}, sidecar, {"name": "last", "image": "i"}]);
    world.create(&pods(), with(init, &json!({})));
    world.pass_millis(700).await;
    let pod = world.pod();
    assert_eq!(
        states(&pod),
        [
            state("first", "running"),
            state("proxy", "waiting"),
            state("last", "waiting")
        ]
    );
    let initialized = condition(&pod, "Initialized").unwrap();
    assert_eq!(
        (&initialized["status"], &initialized["reason"]),
        (&json!("False"), &json!("ContainersNotInitialized"))
    );
    assert_eq!(
        world.container()["state"]["waiting"]["reason"],
        "PodInitializing"
    );
    world.pass(2).await;
    assert_eq!(
        states(&world.pod()),
        [
            state("first", "terminated"),
            state("proxy", "running"),
            state("last", "waiting")
        ]
    );
    world.pass(2).await;
    let pod = world.pod();
    assert_eq!(
        states(&pod),
        [
            state("first", "terminated"),
            state("proxy", "running"),
            state("last", "terminated")
        ]
    );
    assert!(is_true(&pod, "Initialized") && is_true(&pod, "Ready"));
    assert_eq!(pod["status"]["phase"], "Running");
}

#[tokio::test(start_paused = true)]
async fn an_init_container_that_fails_starts_again_or_ends_the_pod() {
    let world = World::new();
    let init = json!([{"name": "first", "image": "i"}]);
    let fail = || world.sandbox.pods().of("one").times(2);
    fail().fail_init_after(Duration::from_secs(1));
    world.create(&pods(), with(init.clone(), &json!({})));
    world.pass(4).await;
    let pod = world.pod();
    let status = &pod["status"]["initContainerStatuses"][0];
    assert_eq!(status["state"]["waiting"]["reason"], "CrashLoopBackOff");
    assert_eq!(pod["status"]["phase"], "Pending");
    world.pass(12).await;
    let pod = world.pod();
    assert!(is_true(&pod, "Ready"));
    assert_eq!(pod["status"]["initContainerStatuses"][0]["restartCount"], 2);

    let world = World::new();
    world
        .sandbox
        .pods()
        .of("one")
        .fail_init_after(Duration::ZERO);
    let mut never = with(init, &json!({}));
    never["spec"]["restartPolicy"] = json!("Never");
    world.create(&pods(), never);
    world.pass(2).await;
    assert_eq!(world.pod()["status"]["phase"], "Failed");
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_ready_when_its_probes_succeed() {
    let world = World::new();
    let probes = json!({
        "startupProbe": {"exec": {"command": ["true"]}, "initialDelaySeconds": 3},
        "readinessProbe": {"exec": {"command": ["true"]}, "initialDelaySeconds": 5, "periodSeconds": 2, "failureThreshold": 2},
    });
    world.create(&pods(), with(json!([]), &probes));
    world.pass(2).await;
    assert_eq!(world.pod()["status"]["phase"], "Running");
    assert_eq!(world.container()["started"], false);
    world.pass(2).await;
    assert_eq!(
        (&world.container()["started"], &world.container()["ready"]),
        (&json!(true), &json!(false))
    );
    world.pass(2).await;
    assert!(is_true(&world.pod(), "Ready"));
    world.sandbox.pods().all().fail_readiness_probe();
    world.pass(1).await;
    assert!(is_true(&world.pod(), "Ready"), "one failure is not enough");
    world.pass(3).await;
    assert!(!is_true(&world.pod(), "Ready"));
    assert_eq!(world.container()["restartCount"], 0);
    world.sandbox.pods().all().recover();
    world.pass(2).await;
    assert!(is_true(&world.pod(), "Ready"));
}

#[tokio::test(start_paused = true)]
async fn a_failed_liveness_probe_restarts_its_container_only() {
    let world = World::new();
    let liveness =
        json!({"exec": {"command": ["true"]}, "periodSeconds": 5, "failureThreshold": 2});
    let mut two = with(json!([]), &json!({"livenessProbe": liveness}));
    let second = json!({"name": "second", "image": "i"});
    two["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .push(second);
    world.create(&pods(), two);
    world.pass(1).await;
    world
        .sandbox
        .pods()
        .of("one")
        .times(1)
        .fail_liveness_probe();
    world.pass(4).await;
    assert!(is_true(&world.pod(), "Ready"));
    world.pass(8).await;
    let pod = world.pod();
    let count = |number: usize| pod["status"]["containerStatuses"][number]["restartCount"].clone();
    assert_eq!((count(0), count(1)), (json!(1), json!(0)));
    assert!(is_true(&pod, "Ready"));
    let events = world.events("one");
    for text in [
        "Killing: Container main failed liveness probe, will be restarted",
        "Unhealthy: Liveness probe failed: simulated",
    ] {
        assert!(events.contains(&text.to_owned()), "{events:?}");
    }
}

/// The clock is moved again and again while the simulator works, so also between the look at a Pod and the plan for its next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_moved_meanwhile_delays_nothing() {
    const AFTER: Duration = Duration::from_hours(2000);
    const HOUR: Duration = Duration::from_hours(1);
    const MOVES: u32 = 200;
    const PODS: usize = 200;
    let world = World::new();
    let sandbox = &world.sandbox;
    sandbox.pods().all().succeed_after(AFTER);
    for number in 0..PODS {
        let mut pod = pod("Never");
        pod["metadata"]["name"] = json!(format!("pod-{number}"));
        world.create(&pods(), pod);
    }
    let all_are = async |phase: &str| {
        let wait = async {
            while world.count(phase) < PODS {
                world.pass_millis(10).await;
            }
        };
        let end = tokio::time::timeout(Duration::from_secs(30), wait).await;
        end.unwrap_or_else(|_| panic!("{} of {PODS} are {phase}", world.count(phase)));
    };
    all_are("Running").await;
    // A change of the rules is a reason to look at every Pod.
    sandbox.pods().of("another").run();
    for _ in 0..MOVES {
        sandbox.advance_clock(HOUR);
        world.pass_millis(1).await;
    }
    sandbox.advance_clock(AFTER - MOVES * HOUR);
    all_are("Succeeded").await;
}
