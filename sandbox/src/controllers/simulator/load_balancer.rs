//! Services: one of the type `LoadBalancer` gets an address, as if a cloud had made a load balancer. Its finalizer and its Events are
//! those of the service controller of a cloud.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::events::{self, Message};
use super::object::{fnv, nodes, services, update};
use crate::api::Handle;
use crate::meta;

/// Keeps a Service until its load balancer is gone.
const CLEANUP: &str = "service.kubernetes.io/load-balancer-cleanup";
/// The taint of a node that an autoscaler is about to remove.
const ABOUT_TO_GO: &str = "ToBeDeletedByClusterAutoscaler";
/// The label of a node that gets no traffic of load balancers.
const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// The load balancers that exist, by the UID of the Service.
#[derive(Default)]
pub(super) struct LoadBalancers {
    known: BTreeMap<String, LoadBalancer>,
}

struct LoadBalancer {
    /// What the Service said when the load balancer was made, or changed last.
    wanted: Value,
    /// The names of the nodes that it leads to.
    nodes: Vec<String>,
}

impl LoadBalancers {
    /// Makes, changes or removes the load balancer of a Service.
    pub(super) fn reconcile(&mut self, handle: &Handle, service: &Value) -> Option<Duration> {
        let is_balanced = is_balanced(service);
        let uid = meta::uid(service);
        let has_finalizer = meta::finalizers(service).contains(&CLEANUP);
        let is_kept = has_finalizer && (meta::is_deleting(service) || !is_balanced);
        let was_balanced = self.known.contains_key(uid);
        if is_kept || was_balanced && !is_balanced {
            self.remove(handle, service);
        } else if is_balanced && !meta::is_deleting(service) {
            self.ensure(handle, service);
        }
        None
    }

    /// Forgets a Service that is gone.
    pub(super) fn forget(&mut self, uid: &str) {
        self.known.remove(uid);
    }

    fn ensure(&mut self, handle: &Handle, service: &Value) {
        let (wanted, nodes) = (wanted(service), available(handle));
        if let Some(known) = self.known.get_mut(meta::uid(service))
            && known.wanted == wanted
        {
            if known.nodes != nodes {
                match nodes.is_empty() {
                    true => record(handle, service, NO_NODES),
                    false => record(handle, service, UPDATED),
                }
                known.nodes = nodes;
            }
            return;
        }
        record(handle, service, ENSURING);
        if nodes.is_empty() {
            record(handle, service, NO_NODES);
        }
        if !meta::finalizers(service).contains(&CLEANUP) {
            update(handle, &services(), service, "", |service| {
                add_finalizer(service);
            });
        }
        record(handle, service, ENSURED);
        let status = json!({"ingress": [{"ip": address(service), "ipMode": "VIP"}]});
        update(handle, &services(), service, "status", |service| {
            service["status"]["loadBalancer"] = status.clone();
        });
        let made = LoadBalancer { wanted, nodes };
        self.known.insert(meta::uid(service).to_owned(), made);
    }

    fn remove(&mut self, handle: &Handle, service: &Value) {
        let is_known = self.known.remove(meta::uid(service)).is_some();
        if is_known || !service["status"]["loadBalancer"]["ingress"].is_null() {
            record(handle, service, DELETING);
        }
        update(handle, &services(), service, "", |service| {
            let finalizers = service["metadata"]["finalizers"].as_array_mut();
            if let Some(finalizers) = finalizers {
                finalizers.retain(|one| one != CLEANUP);
            }
        });
        record(handle, service, DELETED);
        // A Service that is deleted is usually gone by now.
        update(handle, &services(), service, "status", |service| {
            service["status"]["loadBalancer"] = json!({});
        });
    }
}

/// Whether a Service has a load balancer of the cloud. Another class has a controller of its own.
pub(super) fn is_balanced(service: &Value) -> bool {
    let spec = &service["spec"];
    spec["type"] == "LoadBalancer" && spec["loadBalancerClass"].is_null()
}

fn add_finalizer(service: &mut Value) {
    let finalizers = &mut service["metadata"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(finalizers) => finalizers.push(CLEANUP.into()),
        None => *finalizers = json!([CLEANUP]),
    }
}

/// The parts of a Service that are a reason to change its load balancer.
fn wanted(service: &Value) -> Value {
    let fields = [
        "loadBalancerSourceRanges",
        "ports",
        "sessionAffinity",
        "sessionAffinityConfig",
        "loadBalancerIP",
        "externalIPs",
        "externalTrafficPolicy",
        "healthCheckNodePort",
    ];
    let mut wanted: Vec<Value> = fields.map(|field| service["spec"][field].clone()).into();
    let families = service["spec"]["ipFamilies"].as_array();
    wanted.push(json!(families.map(Vec::len)));
    wanted.push(service["metadata"]["annotations"].clone());
    wanted.into()
}

/// The names of the nodes that load balancers may lead to.
fn available(handle: &Handle) -> Vec<String> {
    let is_available = |node: &Value| {
        let mut taints = node["spec"]["taints"].as_array().into_iter().flatten();
        let label = node["metadata"]["labels"][EXCLUDED].as_str();
        let is_included = matches!(
            label,
            None | Some("0" | "f" | "F" | "false" | "False" | "FALSE")
        );
        is_included && !meta::is_deleting(node) && !taints.any(|taint| taint["key"] == ABOUT_TO_GO)
    };
    let all = handle.list(&nodes(), None);
    let available = all.iter().filter(|node| is_available(node));
    available.map(|node| meta::name(node).to_owned()).collect()
}

/// An address in 198.18.0.0/15, which is reserved for tests, that depends only on the UID.
fn address(service: &Value) -> String {
    let [a, b, c, ..] = fnv(meta::uid(service)).to_be_bytes();
    format!("198.{}.{b}.{}", 18 + (a & 1), c.clamp(1, 254))
}

/// An Event: whether it is a warning, its reason and its text.
type Told = (bool, &'static str, &'static str);

const ENSURING: Told = (false, "EnsuringLoadBalancer", "Ensuring load balancer");
const ENSURED: Told = (false, "EnsuredLoadBalancer", "Ensured load balancer");
const UPDATED: Told = (
    false,
    "UpdatedLoadBalancer",
    "Updated load balancer with new hosts",
);
const DELETING: Told = (false, "DeletingLoadBalancer", "Deleting load balancer");
const DELETED: Told = (false, "DeletedLoadBalancer", "Deleted load balancer");
const NO_NODES: Told = (
    true,
    "UnAvailableLoadBalancer",
    "There are no available nodes for LoadBalancer",
);

fn record(handle: &Handle, service: &Value, (warning, reason, text): Told) {
    let what = Message {
        component: "service-controller",
        warning,
        reason,
    };
    events::record(handle, service, what, text);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CLEANUP, EXCLUDED, nodes, services};
    use crate::controllers::simulator::events::events;
    use crate::controllers::simulator::world::World;

    fn service(spec: Value) -> Value {
        let mut service = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": "web"}},
        });
        for (field, value) in spec.as_object().unwrap() {
            service["spec"][field] = value.clone();
        }
        service
    }

    impl World {
        /// How often an Event about the Service was recorded.
        fn counted(&self, reason: &str) -> i64 {
            let all = self.handle.list(&events(), None);
            let of = all.iter().find(|event| event["reason"] == reason);
            of.map_or(0, |event| event["count"].as_i64().unwrap())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_load_balancer_has_an_address_as_long_as_it_is_one() {
        let world = World::new();
        world.create(&services(), service(json!({})));
        world.pass(1).await;
        let web = world.get(&services(), "web");
        let address = web.pointer("/status/loadBalancer/ingress/0/ip");
        assert!(address.unwrap().as_str().unwrap().starts_with("198.1"));
        assert_eq!(web["metadata"]["finalizers"], json!([CLEANUP]));
        world.change(&services(), "web", |web| {
            web["spec"]["type"] = json!("ClusterIP")
        });
        world.pass(1).await;
        let web = world.get(&services(), "web");
        assert_eq!(web["status"]["loadBalancer"], json!({}));
        assert!(web["metadata"]["finalizers"].is_null());
    }

    #[tokio::test(start_paused = true)]
    async fn a_load_balancer_leaves_the_events_of_a_cloud() {
        let world = World::new();
        world.create(&services(), service(json!({})));
        world.pass(1).await;
        let made = [
            "EnsuredLoadBalancer: Ensured load balancer",
            "EnsuringLoadBalancer: Ensuring load balancer",
        ];
        assert_eq!(world.events("web"), made);
        world.delete(&services(), "web", None);
        world.pass(1).await;
        assert!(world.find(&services(), "web").is_none());
        let gone = [
            "DeletedLoadBalancer: Deleted load balancer",
            "DeletingLoadBalancer: Deleting load balancer",
        ];
        assert_eq!(world.events("web"), [gone, made].concat());
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_change_that_concerns_the_load_balancer_ensures_it_again() {
        let world = World::new();
        world.create(&services(), service(json!({})));
        world.pass(1).await;
        world.change(&services(), "web", |web| {
            web["metadata"]["labels"] = json!({"team": "a"});
            web["spec"]["selector"] = json!({"app": "other"});
        });
        world.pass(1).await;
        assert_eq!(world.counted("EnsuredLoadBalancer"), 1);
        world.change(&services(), "web", |web| {
            web["spec"]["ports"][0]["port"] = json!(81);
        });
        world.pass(1).await;
        assert_eq!(world.counted("EnsuringLoadBalancer"), 2);
        assert_eq!(world.counted("EnsuredLoadBalancer"), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn other_nodes_update_a_load_balancer() {
        let world = World::new();
        world.create(&services(), service(json!({})));
        world.pass(1).await;
        let node = |labels: Value| json!({"metadata": {"name": "other", "labels": labels}});
        world.create(&nodes(), node(json!({EXCLUDED: "true"})));
        world.pass(1).await;
        assert_eq!(world.counted("UpdatedLoadBalancer"), 0);
        let change = world.handle.update(&nodes(), None, "other", "", |other| {
            other["metadata"]["labels"] = json!({EXCLUDED: "false"});
        });
        change.unwrap();
        world.pass(1).await;
        assert_eq!(world.counted("UpdatedLoadBalancer"), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn without_nodes_a_load_balancer_warns() {
        let world = World::new();
        world.pass(1).await;
        let change = world.handle.update(&nodes(), None, "sandbox", "", |node| {
            node["metadata"]["labels"][EXCLUDED] = json!("");
        });
        change.unwrap();
        world.create(&services(), service(json!({})));
        world.pass(1).await;
        assert_eq!(world.counted("UnAvailableLoadBalancer"), 1);
        assert_eq!(world.counted("EnsuredLoadBalancer"), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_load_balancer_of_another_class_is_left_to_its_controller() {
        let world = World::new();
        let class = json!({"loadBalancerClass": "example.com/x"});
        world.create(&services(), service(class));
        world.pass(1).await;
        let web = world.get(&services(), "web");
        assert_eq!(web["status"]["loadBalancer"], json!({}));
        assert!(web["metadata"]["finalizers"].is_null());
        assert!(world.events("web").is_empty());
    }
}
