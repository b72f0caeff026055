use serde_json::{Value, json};

use super::autoscalers;
use crate::controllers::simulator::object::{condition, deployments};
use crate::controllers::simulator::world::World;

impl World {
    /// A Deployment `web` of two Pods that request half a core, and an autoscaler with these fields.
    async fn scaled(spec: &Value) -> Self {
        let world = Self::new();
        let container = json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}});
        world.create(
            &deployments(),
            json!({
                "metadata": {"name": "web", "namespace": "default"},
                "spec": {
                    "replicas": 2,
                    "selector": {"matchLabels": {"app": "web"}},
                    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
                },
            }),
        );
        let mut autoscaler = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 10},
        });
        for (field, value) in spec.as_object().unwrap() {
            autoscaler["spec"][field] = value.clone();
        }
        world.create(&autoscalers(), autoscaler);
        world.pass(2).await;
        world
    }

    fn replicas(&self) -> i64 {
        self.get(&deployments(), "web")["spec"]["replicas"]
            .as_i64()
            .unwrap()
    }

    /// Status and reason of a condition of the autoscaler.
    fn state(&self, kind: &str) -> (String, String) {
        let autoscaler = self.get(&autoscalers(), "web");
        let condition = condition(&autoscaler, kind).unwrap();
        let text = |field: &str| condition[field].as_str().unwrap().to_owned();
        (text("status"), text("reason"))
    }

    fn status(&self) -> Value {
        self.get(&autoscalers(), "web")["status"].clone()
    }
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.into(), reason.into())
}

fn cpu(percent: u32) -> Value {
    json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}}])
}

#[tokio::test(start_paused = true)]
async fn usage_above_the_target_adds_replicas_up_to_the_maximum() {
    let world = World::scaled(&json!({"metrics": cpu(50), "maxReplicas": 5})).await;
    world
        .sandbox
        .figures()
        .resource("web", "cpu", "270m")
        .unwrap();
    world.pass(15).await;
    assert_eq!(world.replicas(), 2, "54 % is within the tolerance");
    assert_eq!(
        world.status()["currentMetrics"],
        json!([{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 54, "averageValue": "270m"}}}])
    );
    world
        .sandbox
        .figures()
        .resource("web", "cpu", "400m")
        .unwrap();
    world.pass(15).await;
    assert_eq!(world.replicas(), 4, "80 % of two Pods are 50 % of 3.2");
    assert_eq!(world.state("AbleToScale"), is("True", "SucceededRescale"));
    assert_eq!(world.state("ScalingActive"), is("True", "ValidMetricFound"));
    assert_eq!(
        world
            .events("web")
            .iter()
            .filter(|text| text.starts_with("SuccessfulRescale"))
            .collect::<Vec<_>>(),
        [
            "SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target"
        ]
    );
    world.pass(15).await;
    assert_eq!(world.replicas(), 5);
    assert_eq!(world.state("ScalingLimited"), is("True", "TooManyReplicas"));
}

#[tokio::test(start_paused = true)]
async fn replicas_are_removed_after_five_minutes() {
    let world = World::scaled(&json!({"metrics": cpu(50)})).await;
    world
        .sandbox
        .figures()
        .resource("web", "cpu", "25m")
        .unwrap();
    world.pass(60).await;
    assert_eq!(world.replicas(), 2);
    assert_eq!(
        world.state("AbleToScale"),
        is("True", "ScaleDownStabilized")
    );
    world.pass(270).await;
    assert_eq!(world.replicas(), 1);
    assert_eq!(world.status()["desiredReplicas"], 1);
}

#[tokio::test(start_paused = true)]
async fn policies_limit_the_speed_of_a_change() {
    let up = json!({"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]});
    let down = json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Disabled"});
    let behavior = json!({"scaleUp": up, "scaleDown": down});
    let world = World::scaled(&json!({"metrics": cpu(50), "behavior": behavior})).await;
    world.sandbox.figures().resource("web", "cpu", "1").unwrap();
    world.pass(20).await;
    assert_eq!(world.replicas(), 3);
    world.pass(30).await;
    assert_eq!(world.replicas(), 3);
    assert_eq!(world.state("ScalingLimited"), is("True", "ScaleUpLimit"));
    world.pass(45).await;
    assert_eq!(world.replicas(), 4);
    world
        .sandbox
        .figures()
        .resource("web", "cpu", "1m")
        .unwrap();
    world.pass(120).await;
    assert_eq!(world.replicas(), 4);
    assert_eq!(world.state("ScalingLimited"), is("True", "ScaleDownLimit"));
}

#[tokio::test(start_paused = true)]
async fn an_autoscaler_without_figures_says_so_and_changes_nothing() {
    let world = World::scaled(&json!({"metrics": cpu(50)})).await;
    world.pass(30).await;
    assert_eq!(world.replicas(), 2);
    assert_eq!(
        world.state("ScalingActive"),
        is("False", "FailedGetResourceMetric")
    );
    let autoscaler = world.get(&autoscalers(), "web");
    assert_eq!(
        condition(&autoscaler, "ScalingActive").unwrap()["message"],
        "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: \
         no metrics returned from resource metrics API"
    );
}

#[tokio::test(start_paused = true)]
async fn the_largest_of_several_metrics_counts() {
    let metric = |name: &str| json!({"name": name});
    let value = |kind: &str, quantity: &str| {
        let field = if kind == "Value" {
            "value"
        } else {
            "averageValue"
        };
        json!({"type": kind, field: quantity})
    };
    let metrics = json!([
        {"type": "Pods", "pods": {"metric": metric("rate"), "target": value("AverageValue", "10")}},
        {"type": "Object", "object": {
            "metric": metric("hits"), "target": value("Value", "100"),
            "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"},
        }},
        {"type": "External", "external": {"metric": metric("queue"), "target": value("AverageValue", "5")}},
        {"type": "Resource", "resource": {"name": "memory", "target": value("AverageValue", "2Gi")}},
    ]);
    let world = World::scaled(&json!({"metrics": metrics})).await;
    let figures = world.sandbox.figures();
    figures.pods("web", "rate", "10").unwrap();
    figures.object("Ingress", "web", "hits", "100").unwrap();
    figures.external("queue", "15").unwrap();
    figures.resource("web", "memory", "2Gi").unwrap();
    world.pass(15).await;
    assert_eq!(
        world.replicas(),
        3,
        "each replica takes 5 of the 15 in the queue"
    );
    let shown = world.status();
    let shown = shown["currentMetrics"].as_array().unwrap();
    assert_eq!(shown[0]["pods"]["current"], json!({"averageValue": "10"}));
    assert_eq!(shown[1]["object"]["current"], json!({"value": "100"}));
    assert_eq!(
        shown[2]["external"]["current"],
        json!({"averageValue": "7500m"})
    );
    assert_eq!(
        shown[3]["resource"]["current"],
        json!({"averageValue": "2Gi"})
    );
    figures.object("Ingress", "web", "hits", "250").unwrap();
    world.pass(15).await;
    assert_eq!(
        world.replicas(),
        6,
        "2.5 times three ready Pods, and at most twice as many"
    );
    assert_eq!(world.state("ScalingLimited"), is("True", "ScaleUpLimit"));
}

#[tokio::test(start_paused = true)]
async fn a_target_outside_its_bounds_is_brought_back() {
    let world = World::scaled(&json!({"metrics": cpu(50), "minReplicas": 3})).await;
    world.pass(15).await;
    assert_eq!(world.replicas(), 3);
    assert!(world.events("web").contains(
        &"SuccessfulRescale: New size: 3; reason: Current number of replicas below Spec.MinReplicas".to_owned()
    ));
    world.change(&deployments(), "web", |web| {
        web["spec"]["replicas"] = json!(0)
    });
    world.pass(30).await;
    assert_eq!(
        world.replicas(),
        0,
        "zero replicas switch the autoscaler off"
    );
    assert_eq!(world.state("ScalingActive"), is("False", "ScalingDisabled"));
}

#[tokio::test(start_paused = true)]
async fn a_missing_target_is_reported() {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"});
    let world = World::scaled(&json!({"scaleTargetRef": target})).await;
    world.pass(15).await;
    assert_eq!(world.state("AbleToScale"), is("False", "FailedGetScale"));
    assert!(
        world
            .events("web")
            .contains(&"FailedGetScale: deployments.apps \"none\" not found".to_owned())
    );
}
