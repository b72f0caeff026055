use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::object::{controller, deployments, pods, replica_sets};
use super::{deployment, node, pod, replica_set};
use crate::api::Handle;
use crate::controllers::feed::{Feed, FeedEvent};
use crate::meta;
use crate::registry::GroupResource;

/// Runs Deployments, ReplicaSets and Pods: one object at a time, in the order of their changes.
pub(crate) struct Simulator {
    handle: Handle,
    feed: Feed,
    queue: VecDeque<ObjectKey>,
    queued: BTreeSet<ObjectKey>,
    /// Objects to reconcile later. A running number keeps equal times in order.
    later: BTreeMap<(Instant, u64), ObjectKey>,
    planned: BTreeMap<ObjectKey, (Instant, u64)>,
    /// Objects that are queued because their time has come.
    due: BTreeSet<ObjectKey>,
    number: u64,
}

/// An object to reconcile: its kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ObjectKey {
    resource: GroupResource,
    namespace: String,
    name: String,
}

impl Simulator {
    /// The kinds that run.
    pub(crate) fn kinds() -> [GroupResource; 3] {
        [deployments(), replica_sets(), pods()]
    }

    pub(crate) fn new(handle: Handle) -> Self {
        Self {
            feed: Feed::new(&handle, Some(Self::kinds().to_vec())),
            handle,
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
            later: BTreeMap::new(),
            planned: BTreeMap::new(),
            due: BTreeSet::new(),
            number: 0,
        }
    }

    /// Works until the future is dropped.
    pub(crate) async fn run(mut self) {
        node::create(&self.handle);
        loop {
            let due = self.later.keys().next().map(|(due, _)| *due);
            let wake = async move {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            // Both branches may be cancelled: the feed loses nothing, and the plan stays in `later`.
            tokio::select! {
                biased;
                events = self.feed.next() => self.handle_events(events),
                () = wake => self.enqueue_due(),
            }
            while let Some(item) = self.queue.pop_front() {
                self.queued.remove(&item);
                if let Some(delay) = self.reconcile(&item) {
                    self.schedule(item, delay);
                }
                let events = self.feed.poll();
                self.handle_events(events);
            }
        }
    }

    fn handle_events(&mut self, events: Vec<FeedEvent>) {
        for event in events {
            match event {
                FeedEvent::Put { resource, object } => {
                    self.enqueue_owner(&object);
                    self.enqueue(ObjectKey::of(resource, &object));
                }
                FeedEvent::Gone { resource, object } => {
                    // A Deployment with the strategy `Recreate` waits for the last Pod, which no count of its
                    // ReplicaSet shows.
                    if let Some(set) = self.enqueue_owner(&object)
                        && let Some(set) = self.find(&set)
                    {
                        self.enqueue_owner(&set);
                    }
                    if resource == pods() {
                        self.handle.core().containers.forget(meta::uid(&object));
                    }
                    self.cancel(&ObjectKey::of(resource, &object));
                }
                FeedEvent::Kinds => {}
            }
        }
    }

    /// Enqueues the managing owner of a changed object.
    fn enqueue_owner(&mut self, object: &Arc<Value>) -> Option<ObjectKey> {
        let (kind, name, _) = controller(object)?;
        let resource = match kind {
            "ReplicaSet" => replica_sets(),
            "Deployment" => deployments(),
            _ => return None,
        };
        let owner = ObjectKey {
            resource,
            namespace: meta::text(object, "namespace").to_owned(),
            name: name.to_owned(),
        };
        self.enqueue(owner.clone());
        Some(owner)
    }

    fn find(&self, item: &ObjectKey) -> Option<Arc<Value>> {
        let namespace = Some(item.namespace.as_str());
        self.handle.get(&item.resource, namespace, &item.name)
    }

    fn enqueue(&mut self, item: ObjectKey) {
        if self.queued.insert(item.clone()) {
            self.queue.push_back(item);
        }
    }

    fn enqueue_due(&mut self) {
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

    /// Enqueues an object again after `delay`, unless that is already planned.
    fn schedule(&mut self, item: ObjectKey, delay: Duration) {
        if self.planned.contains_key(&item) {
            return;
        }
        self.number += 1;
        let key = (Instant::now() + delay, self.number);
        self.planned.insert(item.clone(), key);
        self.later.insert(key, item);
    }

    fn cancel(&mut self, item: &ObjectKey) {
        if let Some(key) = self.planned.remove(item) {
            self.later.remove(&key);
        }
    }

    /// Does one step for an object. Returns the time until the next one.
    fn reconcile(&mut self, item: &ObjectKey) -> Option<Duration> {
        let due = self.due.remove(item);
        let object = self.find(item)?;
        if item.resource == pods() {
            pod::reconcile(&self.handle, &object, due)
        } else if item.resource == replica_sets() {
            replica_set::reconcile(&self.handle, &object)
        } else {
            deployment::reconcile(&self.handle, &object)
        }
    }
}

impl ObjectKey {
    fn of(resource: GroupResource, object: &Value) -> Self {
        Self {
            resource,
            namespace: meta::text(object, "namespace").to_owned(),
            name: meta::name(object).to_owned(),
        }
    }
}
