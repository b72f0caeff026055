use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::object::{controller, deployments, pods, replica_sets};
use super::{deployment, pod, replica_set};
use crate::api::{Handle, meta};
use crate::feed::{Feed, FeedEvent};
use crate::registry::GroupResource;

/// Name of the node every pod runs on.
pub(super) const NODE: &str = "sandbox";

/// Runs Deployments, ReplicaSets and pods. One object at a time, in the order in which they changed.
pub(crate) struct Simulator {
    handle: Handle,
    feed: Feed,
    queue: VecDeque<Item>,
    queued: BTreeSet<Item>,
    /// Objects to be looked at later, with a running number that keeps equal times in order.
    later: BTreeMap<(Instant, u64), Item>,
    planned: BTreeMap<Item, (Instant, u64)>,
    /// Queued because their time has come.
    due: BTreeSet<Item>,
    number: u64,
}

/// An object to be looked at: its kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    resource: GroupResource,
    namespace: String,
    name: String,
}

impl Simulator {
    pub(crate) fn new(handle: Handle) -> Self {
        let kinds = vec![deployments(), replica_sets(), pods()];
        Self {
            feed: Feed::new(&handle, Some(kinds)),
            handle,
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
            later: BTreeMap::new(),
            planned: BTreeMap::new(),
            due: BTreeSet::new(),
            number: 0,
        }
    }

    /// Works until it is dropped.
    pub(crate) async fn run(mut self) {
        self.create_node();
        loop {
            let due = self.later.keys().next().map(|(due, _)| *due);
            let wake = async move {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            // Both may be cancelled: the feed loses nothing, and the plan stays in `later`.
            tokio::select! {
                biased;
                events = self.feed.next() => self.learn_all(events),
                () = wake => self.take_due(),
            }
            while let Some(item) = self.queue.pop_front() {
                self.queued.remove(&item);
                if let Some(delay) = self.look(&item) {
                    self.plan(item, delay);
                }
                let events = self.feed.poll();
                self.learn_all(events);
            }
        }
    }

    fn learn_all(&mut self, events: Vec<FeedEvent>) {
        for event in events {
            match event {
                FeedEvent::Put { resource, object } => {
                    self.owner(&object);
                    self.enqueue(Item::of(resource, &object));
                }
                FeedEvent::Gone { resource, object } => {
                    // A Deployment that recreates waits for the last pod, which no count of its ReplicaSet tells.
                    if let Some(set) = self.owner(&object)
                        && let Some(set) = self.find(&set)
                    {
                        self.owner(&set);
                    }
                    if resource == pods() {
                        self.handle.core().containers.forget(meta::uid(&object));
                    }
                    self.unplan(&Item::of(resource, &object));
                }
                FeedEvent::Kinds => {}
            }
        }
    }

    /// Whoever manages a changed object looks at it.
    fn owner(&mut self, object: &Arc<Value>) -> Option<Item> {
        let (kind, name, _) = controller(object)?;
        let resource = match kind {
            "ReplicaSet" => replica_sets(),
            "Deployment" => deployments(),
            _ => return None,
        };
        let owner = Item {
            resource,
            namespace: meta::text(object, "namespace").to_owned(),
            name: name.to_owned(),
        };
        self.enqueue(owner.clone());
        Some(owner)
    }

    fn find(&self, item: &Item) -> Option<Arc<Value>> {
        let namespace = Some(item.namespace.as_str());
        self.handle.get(&item.resource, namespace, &item.name)
    }

    fn enqueue(&mut self, item: Item) {
        if self.queued.insert(item.clone()) {
            self.queue.push_back(item);
        }
    }

    fn take_due(&mut self) {
        let now = Instant::now();
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let item = entry.remove();
            self.planned.remove(&item);
            self.due.insert(item.clone());
            self.enqueue(item);
        }
    }

    /// Looks again after `delay`, unless that is planned already.
    fn plan(&mut self, item: Item, delay: Duration) {
        if self.planned.contains_key(&item) {
            return;
        }
        self.number += 1;
        let key = (Instant::now() + delay, self.number);
        self.planned.insert(item.clone(), key);
        self.later.insert(key, item);
    }

    fn unplan(&mut self, item: &Item) {
        if let Some(key) = self.planned.remove(item) {
            self.later.remove(&key);
        }
    }

    /// Does what is to be done for one object; gives after which time to look again.
    fn look(&mut self, item: &Item) -> Option<Duration> {
        let due = self.due.remove(item);
        let object = self.find(item)?;
        if item.resource == pods() {
            pod::look(&self.handle, &object, due)
        } else if item.resource == replica_sets() {
            replica_set::look(&self.handle, &object)
        } else {
            deployment::look(&self.handle, &object)
        }
    }

    fn create_node(&self) {
        let now = self.handle.core().clock.timestamp();
        let resources = json!({"cpu": "8", "memory": "32Gi", "pods": "1000"});
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": NODE,
                "labels": {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"},
            },
            "status": {
                "addresses": [{"type": "InternalIP", "address": pod::HOST_ADDRESS}, {"type": "Hostname", "address": NODE}],
                "capacity": resources,
                "allocatable": resources,
                "conditions": [{
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "message": "simulated",
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": now,
                }],
                "nodeInfo": {
                    "architecture": "", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                    "kubeletVersion": crate::builtin::source().rsplit(' ').next(),
                    "machineID": "", "operatingSystem": "linux", "osImage": "", "systemUUID": "",
                },
            },
        });
        if let Err(error) = self.handle.create(&GroupResource::new("", "nodes"), node) {
            tracing::warn!(%error, "the simulated node is missing");
        }
    }
}

impl Item {
    fn of(resource: GroupResource, object: &Value) -> Self {
        Self {
            resource,
            namespace: meta::text(object, "namespace").to_owned(),
            name: meta::name(object).to_owned(),
        }
    }
}
