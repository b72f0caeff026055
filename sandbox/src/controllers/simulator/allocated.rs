use std::collections::BTreeMap;

use serde_json::Value;

use super::pod_control::has_ended;
use crate::api::{ResourceList, node_resources, occupied_by};
use crate::go::Quantity;
use crate::meta;

/// What the Pods of each node occupy. The changes of Pods keep it current, so that nobody has to count all Pods.
#[derive(Default)]
pub(super) struct Allocated {
    /// By the UID of the Pod.
    pods: BTreeMap<String, Place>,
    nodes: BTreeMap<String, Taken>,
}

/// Where a Pod is, and what it occupies there.
#[derive(PartialEq)]
struct Place {
    node: String,
    resources: ResourceList,
}

#[derive(Default)]
struct Taken {
    pods: u32,
    resources: ResourceList,
}

/// A resource of which a node has too little for a Pod.
pub(super) struct Shortage {
    pub(super) text: String,
    /// Whether the node would have too little even without other Pods.
    pub(super) is_hopeless: bool,
}

impl Allocated {
    /// Notes a change of a Pod. Returns whether there is room now that there was not before.
    pub(super) fn put(&mut self, pod: &Value) -> bool {
        let node = pod.pointer("/spec/nodeName").and_then(Value::as_str);
        let Some(node) = node.filter(|node| !node.is_empty() && !has_ended(pod)) else {
            return self.remove(meta::uid(pod));
        };
        let place = Place {
            node: node.to_owned(),
            resources: occupied_by(pod),
        };
        if self.pods.get(meta::uid(pod)) == Some(&place) {
            return false;
        }
        let moved = self.remove(meta::uid(pod));
        let taken = self.nodes.entry(place.node.clone()).or_default();
        taken.pods = taken.pods.saturating_add(1);
        for (name, quantity) in &place.resources {
            let sum = taken.resources.get(name).copied();
            let sum = sum.unwrap_or(Quantity::ZERO).plus(*quantity);
            taken.resources.insert(name.clone(), sum);
        }
        self.pods.insert(meta::uid(pod).to_owned(), place);
        moved
    }

    /// Notes that a Pod is gone. Returns whether it occupied something.
    pub(super) fn remove(&mut self, uid: &str) -> bool {
        let Some(place) = self.pods.remove(uid) else {
            return false;
        };
        let Some(taken) = self.nodes.get_mut(&place.node) else {
            return false;
        };
        taken.pods = taken.pods.saturating_sub(1);
        for (name, quantity) in &place.resources {
            if let Some(sum) = taken.resources.get_mut(name) {
                *sum = sum.minus(*quantity);
            }
        }
        if taken.pods == 0 {
            self.nodes.remove(&place.node);
        }
        true
    }

    /// The number of Pods on a node.
    pub(super) fn pods(&self, node: &str) -> u32 {
        self.nodes.get(node).map_or(0, |taken| taken.pods)
    }

    /// The resources of which a node has too little for a Pod. A node that does not say how much it has can take every Pod.
    pub(super) fn shortages(&self, node: &Value, pod: &Value) -> Vec<Shortage> {
        let Some(capacity) = node_resources(node) else {
            return Vec::new();
        };
        let nothing = Taken::default();
        let taken = self.nodes.get(meta::name(node)).unwrap_or(&nothing);
        let zero = Quantity::ZERO;
        let capacity = |name: &str| capacity.get(name).copied().unwrap_or(zero);
        let mut found = Vec::new();
        if Quantity::whole(taken.pods.saturating_add(1)) > capacity("pods") {
            found.push(Shortage {
                text: "Too many pods".to_owned(),
                is_hopeless: false,
            });
        }
        for (name, asked) in occupied_by(pod) {
            let used = taken.resources.get(&name).copied().unwrap_or(zero);
            let free = capacity(&name).minus(used);
            if !asked.is_zero() && asked > free {
                found.push(Shortage {
                    text: format!("Insufficient {name}"),
                    is_hopeless: asked > capacity(&name),
                });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Allocated;

    fn pod(uid: &str, cpu: &str, phase: &str) -> Value {
        json!({
            "metadata": {"name": uid, "uid": uid},
            "spec": {"nodeName": "a", "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]},
            "status": {"phase": phase},
        })
    }

    fn short(allocated: &Allocated, asked: &str) -> Vec<(String, bool)> {
        let node = json!({"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "3"}}});
        let found = allocated.shortages(&node, &pod("new", asked, "Pending"));
        let found = found.into_iter();
        found.map(|one| (one.text, one.is_hopeless)).collect()
    }

    #[test]
    fn what_a_pod_occupies_is_free_again_when_it_has_ended() {
        let mut allocated = Allocated::default();
        assert!(short(&allocated, "2").is_empty());
        assert_eq!(
            short(&allocated, "2001m"),
            [("Insufficient cpu".to_owned(), true)]
        );
        assert!(!allocated.put(&pod("one", "1500m", "Running")));
        assert!(!allocated.put(&pod("one", "1500m", "Running")));
        assert_eq!(allocated.pods("a"), 1);
        assert_eq!(
            short(&allocated, "600m"),
            [("Insufficient cpu".to_owned(), false)]
        );
        assert!(short(&allocated, "500m").is_empty());
        assert!(allocated.put(&pod("one", "1500m", "Succeeded")));
        assert!(short(&allocated, "2").is_empty());
        assert_eq!(allocated.pods("a"), 0);
    }

    #[test]
    fn a_node_has_room_for_a_number_of_pods() {
        let mut allocated = Allocated::default();
        for uid in ["1", "2", "3"] {
            allocated.put(&pod(uid, "0", "Running"));
        }
        assert_eq!(
            short(&allocated, "0"),
            [("Too many pods".to_owned(), false)]
        );
        assert!(allocated.remove("2"));
        assert!(!allocated.remove("2"));
        assert!(short(&allocated, "0").is_empty());
        let silent = json!({"metadata": {"name": "a"}});
        assert!(
            allocated
                .shortages(&silent, &pod("new", "9", "Pending"))
                .is_empty()
        );
    }
}
