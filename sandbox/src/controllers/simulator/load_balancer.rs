//! Services: one of the type `LoadBalancer` gets an address, as if a cloud had made a load balancer.

use std::time::Duration;

use serde_json::{Value, json};

use super::events::{self, Message};
use super::object::{fnv, services, update};
use crate::api::Handle;
use crate::meta;

/// Gives a Service the address of its load balancer, or takes it away.
pub(super) fn balance(handle: &Handle, service: &Value) -> Option<Duration> {
    // Another class has a controller of its own.
    if meta::is_deleting(service) || !service["spec"]["loadBalancerClass"].is_null() {
        return None;
    }
    let balanced = service["spec"]["type"] == "LoadBalancer";
    let has = !service["status"]["loadBalancer"]["ingress"].is_null();
    if balanced == has {
        return None;
    }
    let status = match balanced {
        true => json!({"ingress": [{"ip": address(service), "ipMode": "VIP"}]}),
        false => json!({}),
    };
    update(handle, &services(), service, "status", |service| {
        service["status"]["loadBalancer"] = status.clone();
    });
    if balanced {
        let what = Message {
            component: "service-controller",
            warning: false,
            reason: "EnsuredLoadBalancer",
        };
        events::record(handle, service, what, "Ensured load balancer");
    }
    None
}

/// An address in 198.18.0.0/15, which is reserved for tests, that depends only on the UID.
fn address(service: &Value) -> String {
    let [a, b, c, ..] = fnv(meta::uid(service)).to_be_bytes();
    format!("198.{}.{b}.{}", 18 + (a & 1), c.clamp(1, 254))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::services;
    use crate::controllers::simulator::world::World;

    #[tokio::test(start_paused = true)]
    async fn a_load_balancer_has_an_address_as_long_as_it_is_one() {
        let world = World::new();
        world.create(&services(), json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": "web"}},
        }));
        world.pass(1).await;
        let ingress = "/status/loadBalancer/ingress/0/ip";
        let address = world
            .get(&services(), "web")
            .pointer(ingress)
            .cloned()
            .unwrap();
        assert!(address.as_str().unwrap().starts_with("198.1"));
        assert_eq!(
            world.events("web"),
            ["EnsuredLoadBalancer: Ensured load balancer"]
        );
        world.change(&services(), "web", |web| {
            web["spec"]["type"] = json!("ClusterIP")
        });
        world.pass(1).await;
        assert_eq!(
            world.get(&services(), "web")["status"]["loadBalancer"],
            json!({})
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_load_balancer_of_another_class_is_left_to_its_controller() {
        let world = World::new();
        world.create(&services(), json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"type": "LoadBalancer", "loadBalancerClass": "example.com/x", "ports": [{"port": 80}]},
        }));
        world.pass(1).await;
        assert_eq!(
            world.get(&services(), "web")["status"]["loadBalancer"],
            json!({})
        );
    }
}
