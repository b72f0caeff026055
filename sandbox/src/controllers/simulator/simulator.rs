use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::allocated::Allocated;
use super::autoscaler::{Autoscalers, autoscalers};
use super::claim::is_selected;
use super::job::{self, Jobs};
use super::kubelet::Kubelet;
use super::load_balancer::{self, LoadBalancers};
use super::namespace_defaults::{accounts, config_maps, namespaces};
use super::node;
use super::object::{
    claims, controller, cron_jobs, daemon_sets, deployments, jobs, nodes, pods, replica_sets,
    replication_controllers, resource_of, services, stateful_sets,
};
use super::pod_gc::PodGc;
use super::selected::Selected;
use super::taint_eviction::TaintEviction;
use super::{
    MANAGER, cron_job, daemon_set, deployment, disruption, endpoints, namespace_defaults,
    node_lifecycle, replica_set, scheduler, stateful_set, volumes,
};
use crate::api::Handle;
use crate::clock::Moment;
use crate::controllers::feed::{Feed, FeedEvent};
use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

/// Runs workloads and their Pods: one object at a time, in the order of their changes.
pub(crate) struct Simulator {
    handle: Handle,
    feed: Feed,
    queue: VecDeque<ObjectKey>,
    queued: BTreeSet<ObjectKey>,
    /// Objects to reconcile later. A running number keeps equal times in order.
    later: BTreeMap<(Moment, u64), ObjectKey>,
    planned: BTreeMap<ObjectKey, (Moment, u64)>,
    number: u64,
    nodes: u32,
    kubelet: Kubelet,
    jobs: Jobs,
    autoscalers: Autoscalers,
    load_balancers: LoadBalancers,
    selected: Selected,
    allocated: Allocated,
    /// The Pods for which no node has room, and when to look for it again, if there is reason to.
    without_room: BTreeSet<ObjectKey>,
    room: Option<Moment>,
    taint_eviction: TaintEviction,
    pod_gc: PodGc,
}

/// How long Pods wait after others have made room. All that happens meanwhile is one reason to look.
const AFTER_ROOM: Duration = Duration::from_millis(100);

/// An object to reconcile: its kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ObjectKey {
    resource: GroupResource,
    namespace: String,
    name: String,
}

impl Simulator {
    /// The kinds that run.
    pub(crate) fn kinds() -> Vec<GroupResource> {
        vec![
            deployments(),
            replica_sets(),
            replication_controllers(),
            stateful_sets(),
            daemon_sets(),
            jobs(),
            cron_jobs(),
            pods(),
            claims(),
            volumes::volumes(),
            services(),
            disruption::budgets(),
            autoscalers(),
        ]
    }

    /// The kinds whose changes are a reason to look at an object.
    fn followed() -> Vec<GroupResource> {
        let mut followed = Self::kinds();
        followed.extend([
            endpoints::endpoints(),
            endpoints::slices(),
            volumes::classes(),
        ]);
        followed.extend([nodes(), namespaces(), accounts(), config_maps()]);
        followed
    }

    /// The kinds that are read for other objects, too.
    fn read_often() -> Vec<GroupResource> {
        let mut often = Self::kinds();
        often.extend([endpoints::endpoints(), endpoints::slices(), nodes()]);
        often
    }

    /// A simulator with this many nodes.
    pub(crate) fn new(core: &Arc<Core>, nodes: u32) -> Self {
        let handle = Handle::new(core, MANAGER);
        Self {
            feed: Feed::new(&handle, Some(Self::followed())).keep_decoded(Self::read_often()),
            handle,
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
            later: BTreeMap::new(),
            planned: BTreeMap::new(),
            number: 0,
            nodes,
            kubelet: Kubelet::default(),
            jobs: Jobs::default(),
            autoscalers: Autoscalers::default(),
            load_balancers: LoadBalancers::default(),
            selected: Selected::default(),
            allocated: Allocated::default(),
            without_room: BTreeSet::new(),
            room: None,
            taint_eviction: TaintEviction::default(),
            pod_gc: PodGc::default(),
        }
    }

    /// Works until the future is dropped.
    pub(crate) async fn run(mut self) {
        node::create(&self.handle, self.nodes);
        let mut rules = self.handle.core().containers.rules.changes();
        let core = self.handle.core().clone();
        let mut root_ca = core.root_ca.subscribe();
        let mut ended = core.unfinished.ended();
        let mut waiting = BTreeSet::new();
        loop {
            let due = self.later.keys().next().map(|(due, _)| *due);
            let due = due.into_iter().chain(self.room).min();
            let clock = &core.clock;
            let wake = async move {
                match due {
                    Some(due) => clock.sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            // Each branch may be cancelled: the feed loses nothing, the plan stays in `later`, and a change of the rules stays
            // unseen.
            tokio::select! {
                biased;
                events = self.feed.next() => self.handle_events(events),
                // The sender lives as long as the core.
                _ = rules.changed() => {
                    self.enqueue_all(&nodes());
                    self.enqueue_all(&pods());
                }
                _ = root_ca.changed() => self.enqueue_all(&namespaces()),
                // A write that waited for a webhook has ended.
                _ = ended.changed() => {
                    for item in std::mem::take(&mut waiting) {
                        self.enqueue(item);
                    }
                }
                () = wake => self.enqueue_due(),
            }
            while let Some(item) = self.queue.pop_front() {
                self.queued.remove(&item);
                // Taken first: the clock may be moved meanwhile, and then the next look comes early, never late.
                let now = core.clock.moment();
                match self.reconcile(&item) {
                    Some(delay) => self.schedule(item.clone(), now.checked_add(delay)),
                    None => self.cancel(&item),
                }
                if self.handle.take_waits() {
                    waiting.insert(item);
                }
                let events = self.feed.poll();
                self.handle_events(events);
                // A long queue must not keep others from their work. Dropped here, the simulator ends as anywhere else.
                tokio::task::yield_now().await;
            }
        }
    }

    fn handle_events(&mut self, events: Vec<FeedEvent>) {
        for event in events {
            match event {
                FeedEvent::Put { resource, object } => {
                    let object = object.value();
                    self.enqueue_owner(&object);
                    self.enqueue_adopters(&resource, &object);
                    self.enqueue_selecting(&resource, &object, false);
                    if resource == claims() {
                        self.enqueue_users(&object);
                    }
                    self.enqueue_partners(&resource, &object);
                    if resource == nodes() {
                        self.enqueue_for_nodes();
                        self.enqueue_pods_of(meta::name(&object));
                    } else if resource == pods() && self.allocated.put(&object) {
                        self.look_for_room();
                    }
                    self.enqueue_namespace_of(&resource, &object);
                    self.enqueue(ObjectKey::of(resource, &object));
                }
                FeedEvent::Gone { resource, object } => {
                    let object = object.value();
                    // A Deployment with the strategy `Recreate` waits for the last Pod, which no count of its
                    // ReplicaSet shows.
                    if let Some(set) = self.enqueue_owner(&object)
                        && let Some(set) = self.find(&set)
                    {
                        self.enqueue_owner(&set);
                    }
                    let uid = meta::uid(&object);
                    self.enqueue_selecting(&resource, &object, true);
                    self.enqueue_partners(&resource, &object);
                    if resource == services() {
                        endpoints::forget(&self.handle, &object);
                        self.load_balancers.forget(uid);
                    }
                    if resource == pods() {
                        self.handle.core().containers.forget(uid);
                        self.kubelet.forget(uid);
                        self.taint_eviction.forget(uid);
                        self.pod_gc.forget(uid);
                        self.without_room.remove(&ObjectKey::of(pods(), &object));
                        if self.allocated.remove(uid) {
                            self.look_for_room();
                        }
                    } else if resource == jobs() {
                        self.jobs.forget(uid);
                        job::release(&self.handle, &object);
                    }
                    if resource == nodes() {
                        self.enqueue_for_nodes();
                        self.enqueue_pods_of(meta::name(&object));
                    } else if resource == autoscalers() {
                        self.autoscalers.forget(uid);
                    }
                    self.enqueue_namespace_of(&resource, &object);
                    self.cancel(&ObjectKey::of(resource, &object));
                }
                FeedEvent::Kinds => {}
            }
        }
    }

    /// Enqueues the managing owner of a changed object.
    fn enqueue_owner(&mut self, object: &Arc<Value>) -> Option<ObjectKey> {
        let reference = controller(object)?;
        let resource = resource_of(&self.handle, reference)?;
        if !Self::kinds().contains(&resource) {
            return None;
        }
        let owner = ObjectKey {
            resource,
            namespace: meta::text(object, "namespace").to_owned(),
            name: reference["name"].as_str()?.to_owned(),
        };
        self.enqueue(owner.clone());
        Some(owner)
    }

    /// Enqueues the workloads that can adopt an object without a controller.
    fn enqueue_adopters(&mut self, resource: &GroupResource, object: &Value) {
        let kinds = if *resource == pods() {
            vec![
                replica_sets(),
                replication_controllers(),
                stateful_sets(),
                daemon_sets(),
                jobs(),
            ]
        } else if *resource == replica_sets() {
            vec![deployments()]
        } else {
            return;
        };
        if controller(object).is_some() || meta::is_deleting(object) {
            return;
        }
        let namespace = meta::text(object, "namespace");
        for kind in kinds {
            for owner in self.handle.list(&kind, Some(namespace)) {
                if is_selected(&owner, object) {
                    self.enqueue(ObjectKey::of(kind.clone(), &owner));
                }
            }
        }
    }

    /// Enqueues the Pods that wait for a claim.
    fn enqueue_users(&mut self, claim: &Value) {
        let name = meta::name(claim);
        for pod in self
            .handle
            .list(&pods(), Some(meta::text(claim, "namespace")))
        {
            if pod["spec"]["nodeName"].is_null() && volumes::names(&pod).any(|one| one == name) {
                self.enqueue(ObjectKey::of(pods(), &pod));
            }
        }
    }

    /// Enqueues the volume of a claim, and the claims and Pods that a volume or a class can be for.
    fn enqueue_partners(&mut self, resource: &GroupResource, object: &Value) {
        if *resource == claims() {
            let name = object["spec"]["volumeName"].as_str().unwrap_or_default();
            self.enqueue(ObjectKey {
                resource: volumes::volumes(),
                namespace: String::new(),
                name: name.to_owned(),
            });
        } else if *resource == volumes::volumes() || *resource == volumes::classes() {
            let name = meta::name(object);
            for claim in self.handle.list(&claims(), None) {
                let is_bound = claim["status"]["phase"] == "Bound";
                if !is_bound || claim["spec"]["volumeName"] == name {
                    self.enqueue(ObjectKey::of(claims(), &claim));
                    self.enqueue_users(&claim);
                }
            }
        }
    }

    /// Enqueues what selects a changed Pod, and the Service of changed endpoints.
    fn enqueue_selecting(&mut self, resource: &GroupResource, object: &Value, gone: bool) {
        let found = if *resource == pods() {
            self.selected.by(&self.handle, object, gone)
        } else if [endpoints::endpoints(), endpoints::slices()].contains(resource) {
            vec![(services(), endpoints::service_of(object).to_owned())]
        } else {
            return;
        };
        for (resource, name) in found {
            self.enqueue(ObjectKey {
                resource,
                namespace: meta::text(object, "namespace").to_owned(),
                name,
            });
        }
    }

    /// Enqueues the namespace of an object that it always has.
    fn enqueue_namespace_of(&mut self, resource: &GroupResource, object: &Value) {
        if namespace_defaults::is_default(resource, object) {
            self.enqueue(ObjectKey {
                resource: namespaces(),
                namespace: String::new(),
                name: meta::text(object, "namespace").to_owned(),
            });
        }
    }

    /// Enqueues what depends on the nodes: DaemonSets, load balancers, and Pods without a node.
    fn enqueue_for_nodes(&mut self) {
        self.enqueue_all(&daemon_sets());
        for service in self.handle.list(&services(), None) {
            if load_balancer::is_balanced(&service) {
                self.enqueue(ObjectKey::of(services(), &service));
            }
        }
        for pod in self.handle.list(&pods(), None) {
            if pod["spec"]["nodeName"].is_null() {
                self.enqueue(ObjectKey::of(pods(), &pod));
            }
        }
    }

    /// Plans another look at the Pods for which there was no room.
    fn look_for_room(&mut self) {
        if !self.without_room.is_empty() && self.room.is_none() {
            let now = self.handle.core().clock.moment();
            self.room = Some(now.saturating_add(AFTER_ROOM));
        }
    }

    /// Enqueues the Pods of a node: what happens to them depends on its taints, and on whether it exists.
    fn enqueue_pods_of(&mut self, node: &str) {
        for pod in self.handle.list(&pods(), None) {
            if pod["spec"]["nodeName"] == node {
                self.enqueue(ObjectKey::of(pods(), &pod));
            }
        }
    }

    fn enqueue_all(&mut self, resource: &GroupResource) {
        for object in self.handle.list(resource, None) {
            self.enqueue(ObjectKey::of(resource.clone(), &object));
        }
    }

    fn find(&self, item: &ObjectKey) -> Option<Arc<Value>> {
        let namespace = Some(item.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        self.handle.get(&item.resource, namespace, &item.name)
    }

    fn enqueue(&mut self, item: ObjectKey) {
        if self.queued.insert(item.clone()) {
            self.queue.push_back(item);
        }
    }

    fn enqueue_due(&mut self) {
        let now = self.handle.core().clock.moment();
        if self.room.is_some_and(|room| room <= now) {
            self.room = None;
            for pod in std::mem::take(&mut self.without_room) {
                self.enqueue(pod);
            }
        }
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let item = entry.remove();
            self.planned.remove(&item);
            self.enqueue(item);
        }
    }

    /// Enqueues an object again at `due`, in place of what was planned for it. `None` is a time beyond what the clock can tell: it never comes.
    fn schedule(&mut self, item: ObjectKey, due: Option<Moment>) {
        self.cancel(&item);
        let Some(due) = due else {
            return;
        };
        self.number += 1;
        let key = (due, self.number);
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
        let object = self.find(item)?;
        let handle = &self.handle;
        match (
            item.resource.group.as_str(),
            item.resource.resource.as_str(),
        ) {
            ("", "pods") => self.reconcile_pod(item, &object),
            ("", "nodes") => node_lifecycle::reconcile(handle, &object),
            ("", "namespaces") => namespace_defaults::reconcile(handle, &object),
            ("", "services") => {
                endpoints::reconcile(handle, &object);
                self.load_balancers.reconcile(handle, &object)
            }
            ("policy", "poddisruptionbudgets") => disruption::reconcile(handle, &object),
            ("autoscaling", "horizontalpodautoscalers") => {
                self.autoscalers.reconcile(handle, &object)
            }
            ("apps", "deployments") => deployment::reconcile(handle, &object),
            ("", "replicationcontrollers") => replica_set::reconcile(handle, &object),
            ("apps", "daemonsets") => daemon_set::reconcile(handle, &object),
            ("", "persistentvolumeclaims") => volumes::reconcile_claim(handle, &object),
            ("", "persistentvolumes") => volumes::reconcile_volume(handle, &object),
            ("apps", "statefulsets") => stateful_set::reconcile(handle, &object),
            ("apps", "replicasets") => replica_set::reconcile(handle, &object),
            ("batch", "cronjobs") => cron_job::reconcile(handle, &object),
            ("batch", "jobs") => self.jobs.reconcile(handle, &object),
            _ => None,
        }
    }

    fn reconcile_pod(&mut self, item: &ObjectKey, pod: &Value) -> Option<Duration> {
        job::release_orphan(&self.handle, pod);
        let name = pod.pointer("/spec/nodeName").and_then(Value::as_str);
        let name = name.filter(|name| !name.is_empty());
        let Some(name) = name else {
            return self.reconcile_unbound(item, pod);
        };
        self.without_room.remove(item);
        let Some(node) = self.handle.get(&nodes(), None, name) else {
            return match meta::is_deleting(pod) {
                true => self.kubelet.end(&self.handle, pod),
                false => self.pod_gc.reconcile(&self.handle, pod),
            };
        };
        self.pod_gc.forget(meta::uid(pod));
        let evicted = self.taint_eviction.reconcile(&self.handle, pod, &node);
        let rules = &self.handle.core().containers.rules;
        // Nobody is there to start or to end containers, or another program does.
        if rules.stopped_since(name).is_some() || !node::is_simulated(name) {
            return evicted;
        }
        let next = match meta::is_deleting(pod) {
            true => self.kubelet.end(&self.handle, pod),
            false => self.kubelet.reconcile(&self.handle, pod),
        };
        evicted.into_iter().chain(next).min()
    }

    fn reconcile_unbound(&mut self, item: &ObjectKey, pod: &Value) -> Option<Duration> {
        if meta::is_deleting(pod) {
            return self.kubelet.end(&self.handle, pod);
        }
        if scheduler::schedule(&self.handle, &self.allocated, pod) {
            self.without_room.insert(item.clone());
        }
        None
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
