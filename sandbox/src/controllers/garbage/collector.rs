use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::graph::{Graph, Node};
use super::owner::Owner;
use crate::api::{DeleteOptions, Handle, Propagation};
use crate::controllers::feed::{Feed, FeedEvent};
use crate::controllers::retries::Retries;
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Deletes objects whose owners are gone.
pub(crate) struct Collector {
    handle: Handle,
    feed: Feed,
    graph: Graph,
    queue: VecDeque<String>,
    queued: BTreeSet<String>,
    /// Objects with a failed write.
    retries: Retries,
    /// Objects with a write that waits for a webhook, by UID.
    waiting: BTreeSet<String>,
    /// Pairs of dependent and owner, by UID, whose wrong namespace has been reported.
    reported: BTreeSet<(String, String)>,
}

/// The state of an owner.
#[derive(PartialEq, Eq)]
enum Found {
    Solid,
    /// It waits until its dependents are gone.
    Waiting,
    Absent,
    /// Its kind is not served, or the dependent cannot refer to it.
    Unresolvable,
}

impl Collector {
    pub(crate) fn new(handle: Handle) -> Self {
        Self {
            feed: Feed::new(&handle, None),
            handle,
            graph: Graph::default(),
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
            retries: Retries::default(),
            waiting: BTreeSet::new(),
            reported: BTreeSet::new(),
        }
    }

    /// Works until the future is dropped.
    pub(crate) async fn run(mut self) {
        let mut ended = self.handle.core().unfinished.ended();
        loop {
            let wake = self.retries.wait();
            // Each branch may be cancelled: the feed loses nothing, an ended write stays unseen, and the retries stay planned.
            tokio::select! {
                biased;
                events = self.feed.next() => self.handle_events(events),
                // The sender lives as long as the core.
                _ = ended.changed() => {
                    // The effect of the write is known before its object is judged again.
                    let events = self.feed.poll();
                    self.handle_events(events);
                    for uid in std::mem::take(&mut self.waiting) {
                        self.enqueue(uid);
                    }
                }
                () = wake => {
                    for uid in self.retries.take_due(Instant::now()) {
                        self.enqueue(uid);
                    }
                }
            }
            while let Some(uid) = self.queue.pop_front() {
                self.queued.remove(&uid);
                self.attempt(&uid);
                // Learn the effects of this object before the next one is judged.
                let events = self.feed.poll();
                self.handle_events(events);
            }
        }
    }

    /// Processes an object, and plans another try if a write fails.
    fn attempt(&mut self, uid: &str) {
        match self.process(uid) {
            Ok(()) => self.retries.forget(uid),
            Err(error) if error.is_waiting() => {
                self.waiting.insert(uid.to_owned());
            }
            Err(error) => {
                tracing::debug!(uid, %error, "the garbage collector cannot write; it tries again later");
                self.retries.add(uid, Instant::now());
            }
        }
    }

    fn handle_events(&mut self, events: Vec<FeedEvent>) {
        for event in events {
            self.handle_event(event);
        }
    }

    fn handle_event(&mut self, event: FeedEvent) {
        match event {
            FeedEvent::Put { resource, object } => {
                let object = object.value();
                let known = self.graph.get(meta::uid(&object));
                let before = known.map(|node| node.owners.clone());
                let uid = self.graph.put(&resource, &object);
                let Some(node) = self.graph.get(&uid) else {
                    return;
                };
                // Owners that this object blocked until now.
                let before = before.into_iter().flatten();
                let unblocked = before.filter(|owner| owner.blocks && !node.blocks(&owner.uid));
                let unblocked: Vec<String> = unblocked.map(|owner| owner.uid).collect();
                let (waits, owned) = (node.foreground || node.orphans, !node.owners.is_empty());
                if node.foreground {
                    for dependent in self.graph.dependents(&uid) {
                        self.enqueue(dependent);
                    }
                }
                if waits || owned {
                    self.enqueue(uid);
                }
                for owner in unblocked {
                    self.enqueue(owner);
                }
            }
            FeedEvent::Gone { object, .. } => {
                let uid = meta::uid(&object.value()).to_owned();
                let node = self.graph.remove(&uid);
                self.retries.forget(&uid);
                self.waiting.remove(&uid);
                self.reported.retain(|(dependent, _)| *dependent != uid);
                for dependent in self.graph.dependents(&uid) {
                    self.enqueue(dependent);
                }
                for owner in node.into_iter().flat_map(|node| node.owners) {
                    if self
                        .graph
                        .get(&owner.uid)
                        .is_some_and(|owner| owner.foreground)
                    {
                        self.enqueue(owner.uid);
                    }
                }
            }
            // An owner whose kind was not served may be found now.
            FeedEvent::Kinds => {
                for uid in self.graph.owned() {
                    self.enqueue(uid);
                }
            }
        }
    }

    fn enqueue(&mut self, uid: String) {
        if self.queued.insert(uid.clone()) {
            self.queue.push_back(uid);
        }
    }

    /// # Errors
    /// A write failed, or waits for a webhook.
    fn process(&mut self, uid: &str) -> Result<(), ApiError> {
        let Some(node) = self.graph.get(uid).cloned() else {
            return Ok(());
        };
        if node.orphans {
            self.orphan(uid, &node)
        } else if node.foreground {
            self.finish_foreground(uid, &node)
        } else if !node.deleting && !node.owners.is_empty() {
            self.check_owners(uid, &node)
        } else {
            Ok(())
        }
    }

    /// Removes the owner's reference from its dependents. If all writes have succeeded, removes the owner's finalizer:
    /// a dependent that kept the reference would be deleted once the owner is gone.
    fn orphan(&self, uid: &str, node: &Node) -> Result<(), ApiError> {
        let mut failed = None;
        for dependent in self.graph.dependents(uid) {
            if let Some(found) = self.graph.get(&dependent)
                && let Err(error) = self.disown(&dependent, found, &[uid])
                // A failure is tried again by itself, so it comes before a write that waits.
                && failed.as_ref().is_none_or(ApiError::is_waiting)
            {
                failed = Some(error);
            }
        }
        match failed {
            Some(error) => Err(error),
            None => self.remove_finalizer(uid, node, ORPHAN),
        }
    }

    /// Removes the finalizer of an owner once no dependent blocks it.
    fn finish_foreground(&self, uid: &str, node: &Node) -> Result<(), ApiError> {
        let blocked = self.graph.dependents(uid).iter().any(|dependent| {
            let dependent = self.graph.get(dependent);
            dependent.is_some_and(|dependent| dependent.blocks(uid))
        });
        match blocked {
            true => Ok(()),
            false => self.remove_finalizer(uid, node, FOREGROUND),
        }
    }

    /// Decides by its owners what happens to an object.
    fn check_owners(&mut self, uid: &str, node: &Node) -> Result<(), ApiError> {
        let found: Vec<(&Owner, Found)> = node
            .owners
            .iter()
            .map(|owner| (owner, self.find(uid, node, owner)))
            .collect();
        let any = |wanted: Found| found.iter().any(|(_, found)| *found == wanted);
        if any(Found::Unresolvable) {
            return Ok(());
        }
        if any(Found::Solid) {
            let lost: Vec<&str> = found
                .iter()
                .filter(|(_, found)| *found != Found::Solid)
                .map(|(owner, _)| owner.uid.as_str())
                .collect();
            return match lost.is_empty() {
                true => Ok(()),
                false => self.disown(uid, node, &lost),
            };
        }
        let dependents = self.graph.dependents(uid);
        let propagation = if any(Found::Waiting) && !dependents.is_empty() {
            let mut found = dependents.iter().filter_map(|one| self.graph.get(one));
            if found.any(|dependent| dependent.foreground) {
                // A dependent that waits for its own dependents may be the owner that waits for this object. If this
                // object went on to block it, neither would end.
                self.unblock(uid, node)?;
            }
            // Its own dependents block the owner that waits.
            Some(Propagation::Foreground)
        } else {
            None
        };
        self.delete(uid, node, propagation)
    }

    fn find(&mut self, uid: &str, node: &Node, owner: &Owner) -> Found {
        let registry = self.handle.core().registry();
        let (group, version) = owner.group_version();
        let Some(kind) = registry.find_kind(group, version, &owner.kind) else {
            return Found::Unresolvable;
        };
        let namespace = match (&node.namespace, kind.namespaced) {
            (None, true) => {
                self.report(uid, node, owner);
                return Found::Unresolvable;
            }
            (Some(namespace), true) => Some(namespace.as_str()),
            (_, false) => None,
        };
        let target = kind.group_resource();
        let object = self.handle.get(&target, namespace, &owner.name);
        if object.is_none_or(|object| meta::uid(&object) != owner.uid) {
            let elsewhere = self.graph.get(&owner.uid).map(|found| &found.namespace);
            if elsewhere.is_some_and(|elsewhere| *elsewhere != node.namespace) && kind.namespaced {
                self.report(uid, node, owner);
            }
            return Found::Absent;
        }
        match self.graph.get(&owner.uid) {
            Some(found) if found.foreground => Found::Waiting,
            _ => Found::Solid,
        }
    }

    /// Reports once that an owner reference leads to a place where the owner cannot be found.
    fn report(&mut self, uid: &str, node: &Node, owner: &Owner) {
        let pair = (uid.to_owned(), owner.uid.clone());
        if !self.reported.insert(pair) {
            return;
        }
        let namespace = node.namespace.clone().unwrap_or_default();
        let message = format!(
            "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace {namespace:?}",
            owner.api_version, owner.kind, owner.name, owner.uid
        );
        tracing::warn!(resource = %node.resource, name = %node.name, "{message}");
        let object = self
            .handle
            .get(&node.resource, node.namespace.as_deref(), &node.name);
        let field = |name: &str| {
            let field = object.as_ref().and_then(|object| object.get(name));
            field.cloned().unwrap_or_default()
        };
        let home = node.namespace.as_deref().unwrap_or("default");
        let now = self.handle.core().clock.timestamp();
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": format!("{}.", node.name), "namespace": home},
            "involvedObject": {
                "apiVersion": field("apiVersion"),
                "kind": field("kind"),
                "namespace": namespace,
                "name": node.name,
                "uid": uid,
            },
            "reason": "OwnerRefInvalidNamespace",
            "message": message,
            "type": "Warning",
            "source": {"component": "garbage-collector-controller"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        });
        // The Event may fail: its namespace may be about to be deleted.
        let _ = self.handle.create(&GroupResource::new("", "events"), event);
    }

    fn delete(
        &self,
        uid: &str,
        node: &Node,
        propagation: Option<Propagation>,
    ) -> Result<(), ApiError> {
        let object = self
            .handle
            .get(&node.resource, node.namespace.as_deref(), &node.name);
        let Some(object) = object else { return Ok(()) };
        let finalizers = meta::finalizers(&object);
        let own = if finalizers.contains(&ORPHAN) {
            Propagation::Orphan
        } else if finalizers.contains(&FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        let options = DeleteOptions {
            propagation: Some(propagation.unwrap_or(own)),
            uid: Some(uid.to_owned()),
            // A concurrent change may have given the object another owner. After a conflict its owners are judged again.
            resource_version: Some(meta::resource_version(&object).to_owned()),
            ..DeleteOptions::default()
        };
        let namespace = node.namespace.as_deref();
        let deleted = self
            .handle
            .delete(&node.resource, namespace, &node.name, &options);
        unless_gone(deleted)
    }

    /// Removes owner references from an object.
    fn disown(&self, uid: &str, node: &Node, owners: &[&str]) -> Result<(), ApiError> {
        self.change(uid, node, |object| {
            let references = object
                .pointer_mut("/metadata/ownerReferences")
                .and_then(Value::as_array_mut);
            let Some(references) = references else { return };
            references.retain(|reference| {
                let uid = reference.get("uid").and_then(Value::as_str);
                !uid.is_some_and(|uid| owners.contains(&uid))
            });
            if references.is_empty() {
                meta::remove(object, "ownerReferences");
            }
        })
    }

    /// Lets an object block none of its owners.
    fn unblock(&self, uid: &str, node: &Node) -> Result<(), ApiError> {
        if !node.owners.iter().any(|owner| owner.blocks) {
            return Ok(());
        }
        self.change(uid, node, |object| {
            let references = object
                .pointer_mut("/metadata/ownerReferences")
                .and_then(Value::as_array_mut);
            for reference in references.into_iter().flatten() {
                if reference.get("blockOwnerDeletion") == Some(&Value::Bool(true)) {
                    reference["blockOwnerDeletion"] = false.into();
                }
            }
        })
    }

    fn remove_finalizer(&self, uid: &str, node: &Node, finalizer: &str) -> Result<(), ApiError> {
        self.change(uid, node, |object| {
            let kept = meta::finalizers(object)
                .into_iter()
                .filter(|name| *name != finalizer)
                .map(str::to_owned)
                .collect();
            meta::set_finalizers(object, kept);
        })
    }

    /// Changes an object, unless another one has its name now.
    fn change(
        &self,
        uid: &str,
        node: &Node,
        mut change: impl FnMut(&mut Value),
    ) -> Result<(), ApiError> {
        let namespace = node.namespace.as_deref();
        let change = |object: &mut Value| {
            if meta::uid(object) == uid {
                change(object);
            }
        };
        let changed = self
            .handle
            .update(&node.resource, namespace, &node.name, "", change);
        unless_gone(changed)
    }
}

/// The result of a write, for which a missing object is no error.
fn unless_gone<T>(written: Result<T, ApiError>) -> Result<(), ApiError> {
    match written {
        Err(error) if error.code != 404 => Err(error),
        _ => Ok(()),
    }
}
