//! Workloads that ask for far more Pods than anybody can have.

use serde_json::{Value, json};

use super::object::{replica_sets, stateful_sets};
use super::world::World;

fn workload(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 2_000_000_000,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
            },
        },
    })
}

/// Lets the simulator work until there are Pods, then scales down to one.
#[tokio::test(start_paused = true)]
async fn a_workload_with_very_many_replicas_lets_others_work() {
    for (resource, parallel) in [
        (replica_sets(), false),
        (stateful_sets(), false),
        (stateful_sets(), true),
    ] {
        let world = World::new();
        let mut object = workload("web");
        if resource == stateful_sets() {
            object["spec"]["serviceName"] = json!("web");
        }
        if parallel {
            object["spec"]["podManagementPolicy"] = json!("Parallel");
        }
        world.create(&resource, object);
        while world.pods().is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(world.pods().len() <= 500, "{resource}");
        world.change(&resource, "web", |object| {
            object["spec"]["replicas"] = json!(1)
        });
        world.pass(300).await;
        assert_eq!(world.count("Running"), 1, "{resource}");
        assert_eq!(world.pods().len(), 1, "{resource}");
    }
}
