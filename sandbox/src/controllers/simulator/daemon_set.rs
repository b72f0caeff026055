//! DaemonSets: a Pod on each node.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::claim::{claim, is_selected};
use super::deployment::bound;
use super::events::{self, Message};
use super::history::{self, REVISION_LABEL};
use super::node::{self, misfit, repels};
use super::object::{daemon_sets, is_true, nodes, number, pods, set_count, update};
use super::pod_control::{self, available_in, controlled, from_template, has_ended};
use crate::api::Handle;
use crate::meta;

const COMPONENT: &str = "daemonset-controller";
const GENERATION: &str = "deprecated.daemonset.template.generation";

/// The taints that every Pod of a DaemonSet tolerates, and their effects.
const TOLERATED: [(&str, &str); 6] = [
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
];

/// Moves a DaemonSet one step forward and reports its status. Returns the time until the next one.
pub(super) fn reconcile(handle: &Handle, set: &Value) -> Option<Duration> {
    let mut revisions = history::of(handle, set);
    let latest = history::latest(handle, set, &mut revisions)?;
    let hash = history::hash(&latest).to_owned();
    if !meta::is_deleting(set) {
        let namespace = meta::text(set, "namespace");
        let all = handle.list(&pods(), Some(namespace));
        claim(handle, set, (&pods(), &all), None, |pod| {
            is_selected(set, pod)
        });
        let step = Step::new(handle, set, &hash);
        step.place();
        // The Pods after the writes above.
        let step = Step::new(handle, set, &hash);
        if set["spec"]["updateStrategy"]["type"] != "OnDelete" {
            step.roll();
        }
    }
    let step = Step::new(handle, set, &hash);
    let pods = step.places.iter().flat_map(|place| &place.pods);
    let mut live: BTreeSet<String> = pods.map(|pod| revision(pod).to_owned()).collect();
    live.insert(hash.clone());
    history::truncate(handle, set, &revisions, &live);
    step.report()
}

struct Step<'a> {
    handle: &'a Handle,
    set: &'a Value,
    hash: &'a str,
    /// The Pods of the DaemonSet get this template.
    template: Value,
    places: Vec<Place>,
}

/// A node and the Pods on it.
struct Place {
    node: String,
    /// Whether a Pod is to run there.
    wanted: bool,
    /// Whether a Pod that runs there may stay.
    kept: bool,
    /// The oldest first.
    pods: Vec<Arc<Value>>,
}

impl<'a> Step<'a> {
    fn new(handle: &'a Handle, set: &'a Value, hash: &'a str) -> Self {
        let template = tolerant(&set["spec"]["template"]);
        let mut pods = controlled(handle, set);
        pods.sort_by_cached_key(|pod| meta::text(pod, "creationTimestamp").to_owned());
        let spec = &template["spec"];
        let mut places: Vec<Place> = handle
            .list(&nodes(), None)
            .iter()
            .map(|node| Place {
                node: meta::name(node).to_owned(),
                wanted: misfit(node, spec).is_none(),
                kept: misfit(node, spec).is_none_or(|why| why != node::Misfit::Affinity)
                    && !repels(node, spec, "NoExecute"),
                pods: Vec::new(),
            })
            .collect();
        for pod in pods {
            let there = pod["spec"]["nodeName"].as_str();
            let there = there
                .or_else(|| node::named(&pod["spec"]))
                .unwrap_or_default();
            match places.iter_mut().find(|place| place.node == there) {
                Some(place) => place.pods.push(pod.clone()),
                // The node is gone.
                None => places.push(Place {
                    node: there.to_owned(),
                    wanted: false,
                    kept: false,
                    pods: vec![pod.clone()],
                }),
            }
        }
        Self {
            handle,
            set,
            hash,
            template,
            places,
        }
    }

    /// Creates a Pod where one is missing, and deletes those that are too many.
    fn place(&self) {
        let surge = self.bounds().0;
        for place in &self.places {
            let mut running = Vec::new();
            for pod in place.pods.iter().filter(|pod| !meta::is_deleting(pod)) {
                if has_ended(pod) {
                    self.replace(pod, &place.node);
                } else {
                    running.push(pod);
                }
            }
            if place.wanted && place.pods.is_empty() {
                self.create(&place.node);
            } else if !place.kept {
                running.iter().for_each(|pod| self.delete(pod));
            } else {
                // While a Pod is replaced by surge, an old one and a new one are there.
                let old = running.iter().filter(|pod| revision(pod) != self.hash);
                let new = running.iter().filter(|pod| revision(pod) == self.hash);
                if surge == 0 {
                    running.iter().skip(1).for_each(|pod| self.delete(pod));
                } else {
                    old.skip(1)
                        .chain(new.skip(1))
                        .for_each(|pod| self.delete(pod));
                }
            }
        }
    }

    /// How many Pods more than nodes, and how many unavailable ones an update may make.
    fn bounds(&self) -> (i64, i64) {
        let wanted = self.places.iter().filter(|place| place.wanted).count();
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        let update = &self.set["spec"]["updateStrategy"]["rollingUpdate"];
        let surge = bound(&update["maxSurge"], wanted, true);
        let unavailable = bound(&update["maxUnavailable"], wanted, true);
        // With both at zero no step would be possible.
        let least = i64::from(surge == 0);
        (surge, unavailable.max(least))
    }

    /// Replaces Pods of earlier templates within the bounds of the strategy.
    fn roll(&self) {
        let (surge, most) = self.bounds();
        let (mut surging, mut unavailable) = (0, 0);
        let (mut replaceable, mut waiting) = (Vec::new(), Vec::new());
        for place in self.places.iter().filter(|place| place.kept) {
            let find = |latest: bool| {
                let mut live = place.pods.iter().filter(|pod| !meta::is_deleting(pod));
                live.find(|pod| (revision(pod) == self.hash) == latest)
            };
            match (find(false), find(true)) {
                (None, None) => unavailable += 1,
                (None, Some(new)) => unavailable += i64::from(!self.is_available(new)),
                (Some(old), Some(new)) if surge > 0 => {
                    if self.is_available(new) {
                        self.delete(old);
                    } else {
                        surging += 1;
                    }
                }
                (Some(_), Some(_)) => unavailable += 1,
                (Some(old), None) if self.is_available(old) => waiting.push((place, old)),
                (Some(old), None) => {
                    unavailable += 1;
                    replaceable.push((place, old));
                }
            }
        }
        let free = match surge {
            0 => most - unavailable,
            _ => surge - surging,
        };
        let free = usize::try_from(free).unwrap_or_default();
        replaceable.extend(waiting.into_iter().take(free));
        for (place, old) in replaceable {
            match surge {
                0 => self.delete(old),
                _ => self.create(&place.node),
            }
        }
    }

    fn is_available(&self, pod: &Value) -> bool {
        self.available_in(pod).is_some_and(|rest| rest.is_zero())
    }

    fn available_in(&self, pod: &Value) -> Option<Duration> {
        let minimum = number(self.set, "/spec/minReadySeconds");
        available_in(pod, minimum, self.handle.core().clock.now())
    }

    fn create(&self, node: &str) {
        let mut pod = from_template(self.set, &self.template);
        let generation = self.set["metadata"]["annotations"][GENERATION].clone();
        let labels = &mut pod["metadata"]["labels"];
        labels[REVISION_LABEL] = json!(self.hash);
        labels["pod-template-generation"] = generation;
        let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        pod["spec"]["affinity"]["nodeAffinity"][required] =
            json!({"nodeSelectorTerms": [{"matchFields": [field]}]});
        // An error is in the Event.
        let _ = pod_control::create(self.handle, self.set, COMPONENT, pod);
    }

    fn delete(&self, pod: &Value) {
        pod_control::delete(self.handle, self.set, COMPONENT, pod);
    }

    /// Deletes a Pod that has ended, so that another one takes its place.
    fn replace(&self, pod: &Value, node: &str) {
        let (warning, reason, how) = match pod["status"]["phase"] == "Failed" {
            true => (true, "FailedDaemonPod", "failed"),
            false => (false, "SucceededDaemonPod", "succeeded"),
        };
        let name = meta::name(pod);
        let text = format!("Found {how} daemon pod {name} on node {node}, will try to delete it");
        let what = Message {
            component: COMPONENT,
            warning,
            reason,
        };
        events::record(self.handle, self.set, what, &text);
        self.delete(pod);
    }

    /// Writes the status. Returns the time until a ready Pod counts as available.
    fn report(&self) -> Option<Duration> {
        let [mut wanted, mut placed, mut misplaced] = [0; 3];
        let [mut updated, mut ready, mut available] = [0; 3];
        let mut soonest: Option<Duration> = None;
        for place in &self.places {
            let first = place.pods.first();
            if !place.wanted {
                misplaced += i64::from(first.is_some());
                continue;
            }
            wanted += 1;
            let Some(first) = first else { continue };
            placed += 1;
            updated += i64::from(revision(first) == self.hash);
            ready += i64::from(is_true(first, "Ready"));
            match self.available_in(first) {
                Some(Duration::ZERO) => available += 1,
                Some(rest) => soonest = Some(soonest.map_or(rest, |soonest| soonest.min(rest))),
                None => {}
            }
        }
        let generation = self.set["metadata"]["generation"].clone();
        update(self.handle, &daemon_sets(), self.set, "status", |set| {
            let status = &mut set["status"];
            if !status.is_object() {
                *status = json!({});
            }
            status["observedGeneration"] = generation.clone();
            // These numbers are always present.
            status["currentNumberScheduled"] = json!(placed);
            status["desiredNumberScheduled"] = json!(wanted);
            status["numberMisscheduled"] = json!(misplaced);
            status["numberReady"] = json!(ready);
            set_count(status, "updatedNumberScheduled", updated);
            set_count(status, "numberAvailable", available);
            set_count(status, "numberUnavailable", wanted - available);
        });
        soonest
    }
}

fn revision(pod: &Value) -> &str {
    let hash = &pod["metadata"]["labels"][REVISION_LABEL];
    hash.as_str().unwrap_or_default()
}

/// The template with the tolerations that the Pods of every DaemonSet have.
fn tolerant(template: &Value) -> Value {
    let mut template = template.clone();
    let own = template["spec"]["tolerations"].as_array().cloned();
    let mut tolerations = own.unwrap_or_default();
    let host = template["spec"]["hostNetwork"] == true;
    let network = host.then_some(("network-unavailable", "NoSchedule"));
    for (name, effect) in TOLERATED.into_iter().chain(network) {
        let key = format!("node.kubernetes.io/{name}");
        tolerations.push(json!({"key": key, "operator": "Exists", "effect": effect}));
    }
    template["spec"]["tolerations"] = tolerations.into();
    template
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::daemon_sets;
    use crate::controllers::simulator::history;
    use crate::controllers::simulator::object::{nodes, number};
    use crate::controllers::simulator::world::World;
    use crate::meta;

    fn set(spec: &Value) -> Value {
        let labels = json!({"app": "agent"});
        let mut set = json!({
            "metadata": {"name": "agent", "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "agent:1"}]},
            }},
        });
        for (field, value) in spec.as_object().unwrap() {
            set["spec"][field] = value.clone();
        }
        set
    }

    async fn world(spec: Value) -> World {
        let world = World::with_nodes(3);
        world.create(&daemon_sets(), set(&spec));
        world.pass(10).await;
        world
    }

    impl World {
        /// The nodes of the Pods and the images on them, sorted.
        fn agents(&self) -> Vec<String> {
            let of = |pod: &std::sync::Arc<Value>| {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let image = text(&pod["spec"]["containers"][0]["image"]);
                format!("{} {image}", text(&pod["spec"]["nodeName"]))
            };
            let mut all: Vec<String> = self.pods().iter().map(of).collect();
            all.sort();
            all
        }

        fn agent_status(&self) -> Value {
            self.get(&daemon_sets(), "agent")["status"].clone()
        }

        fn set_agent(&self, image: &str) {
            self.change(&daemon_sets(), "agent", |set| {
                set["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
            });
        }

        fn change_node(&self, name: &str, change: impl FnMut(&mut Value)) {
            self.handle
                .update(&nodes(), None, name, "", change)
                .unwrap();
        }
    }

    const ALL: [&str; 3] = ["sandbox agent:1", "sandbox-2 agent:1", "sandbox-3 agent:1"];

    #[tokio::test(start_paused = true)]
    async fn a_pod_runs_on_each_node() {
        let world = world(json!({})).await;
        assert_eq!(world.agents(), ALL);
        let status = json!({
            "observedGeneration": 1, "currentNumberScheduled": 3, "desiredNumberScheduled": 3,
            "numberMisscheduled": 0, "numberReady": 3, "updatedNumberScheduled": 3, "numberAvailable": 3,
        });
        assert_eq!(world.agent_status(), status);
        let pod = world.pods().remove(0);
        let labels = &pod["metadata"]["labels"];
        assert_eq!(labels["pod-template-generation"], "1");
        let revisions = history::of(&world.handle, &world.get(&daemon_sets(), "agent"));
        assert_eq!(
            labels["controller-revision-hash"],
            history::hash(&revisions[0])
        );
        let version = world.handle.version();
        world.pass(1_000).await;
        assert_eq!(world.handle.version(), version);
    }

    #[tokio::test(start_paused = true)]
    async fn only_nodes_that_the_template_selects_get_a_pod() {
        let world = world(json!({})).await;
        let template = "/spec/template/spec";
        world.change(&daemon_sets(), "agent", |set| {
            set.pointer_mut(template).unwrap()["nodeSelector"] = json!({"disk": "ssd"});
        });
        world.pass(5).await;
        assert!(world.agents().is_empty());
        world.change_node("sandbox-2", |node| {
            node["metadata"]["labels"]["disk"] = json!("ssd")
        });
        world.pass(5).await;
        assert_eq!(world.agents(), ["sandbox-2 agent:1"]);
        assert_eq!(world.agent_status()["desiredNumberScheduled"], 1);
        world.change_node("sandbox-2", |node| {
            node["spec"]["unschedulable"] = json!(true)
        });
        world.pass(5).await;
        // Its Pods tolerate a cordon.
        assert_eq!(world.agents(), ["sandbox-2 agent:1"]);
        let taint = json!([{"key": "broken", "effect": "NoExecute"}]);
        world.change_node("sandbox-2", |node| node["spec"]["taints"] = taint.clone());
        world.pass(5).await;
        assert!(world.agents().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_update_replaces_one_pod_after_the_other() {
        let world = world(json!({})).await;
        world.set_agent("agent:2");
        world.pass_millis(100).await;
        let going = world
            .pods()
            .iter()
            .filter(|pod| meta::is_deleting(pod))
            .count();
        assert_eq!(going, 1);
        world.pass(10).await;
        assert!(world.agents().iter().all(|agent| agent.ends_with(":2")));
        assert_eq!(world.agent_status()["updatedNumberScheduled"], 3);
        world.set_agent("registry.invalid/agent:3");
        world.pass(60).await;
        assert_eq!(number(&world.agent_status(), "/numberUnavailable"), 1);
        world.set_agent("agent:2");
        world.pass(60).await;
        assert_eq!(number(&world.agent_status(), "/numberAvailable"), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn with_surge_the_new_pod_is_ready_before_the_old_one_goes() {
        let update =
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
        let world = world(json!({"updateStrategy": update})).await;
        world.set_agent("agent:2");
        for _ in 0..50 {
            world.pass_millis(100).await;
            let live = world
                .pods()
                .iter()
                .filter(|pod| !meta::is_deleting(pod))
                .count();
            assert!((3..=4).contains(&live), "{live}");
        }
        assert!(world.agents().iter().all(|agent| agent.ends_with(":2")));
        assert_eq!(world.agents().len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn on_delete_updates_only_deleted_pods() {
        let world = world(json!({"updateStrategy": {"type": "OnDelete"}})).await;
        world.set_agent("agent:2");
        world.pass(10).await;
        assert_eq!(world.agents(), ALL);
        let pods = world.pods();
        let first = pods.iter().find(|pod| pod["spec"]["nodeName"] == "sandbox");
        world.delete(
            &super::super::object::pods(),
            meta::name(first.unwrap()),
            None,
        );
        world.pass(10).await;
        assert_eq!(world.agents()[0], "sandbox agent:2");
        assert_eq!(world.agents()[1..], ALL[1..]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_has_failed_is_replaced() {
        let world = world(json!({})).await;
        let name = meta::name(&world.pods()[0]).to_owned();
        let failed = |pod: &mut Value| pod["status"]["phase"] = json!("Failed");
        let pods = super::super::object::pods();
        world
            .handle
            .update(&pods, Some("default"), &name, "status", failed)
            .unwrap();
        world.pass(10).await;
        assert_eq!(world.agents(), ALL);
        assert!(world.find(&pods, &name).is_none());
        let events = world.events("agent");
        assert!(
            events
                .iter()
                .any(|event| event.starts_with("FailedDaemonPod: "))
        );
    }
}
