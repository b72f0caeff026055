use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::graph::{Graph, Node};
use super::owner::Owner;
use crate::api::{DeleteOptions, Handle, Propagation};
use crate::controllers::feed::{Feed, FeedEvent};
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
            reported: BTreeSet::new(),
        }
    }

    /// Works until the future is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            for event in self.feed.next().await {
                self.handle_event(event);
            }
            while let Some(uid) = self.queue.pop_front() {
                self.queued.remove(&uid);
                self.process(&uid);
                // Learn the effects of this object before the next one is judged.
                for event in self.feed.poll() {
                    self.handle_event(event);
                }
            }
        }
    }

    fn handle_event(&mut self, event: FeedEvent) {
        match event {
            FeedEvent::Put { resource, object } => {
                let uid = self.graph.put(&resource, &object.value());
                let Some(node) = self.graph.get(&uid) else {
                    return;
                };
                let (waits, owned) = (node.foreground || node.orphans, !node.owners.is_empty());
                if node.foreground {
                    for dependent in self.graph.dependents(&uid) {
                        self.enqueue(dependent);
                    }
                }
                if waits || owned {
                    self.enqueue(uid);
                }
            }
            FeedEvent::Gone { object, .. } => {
                let uid = meta::uid(&object.value()).to_owned();
                let node = self.graph.remove(&uid);
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

    fn process(&mut self, uid: &str) {
        let Some(node) = self.graph.get(uid).cloned() else {
            return;
        };
        if node.orphans {
            self.orphan(uid, &node);
        } else if node.foreground {
            self.finish_foreground(uid, &node);
        } else if !node.deleting && !node.owners.is_empty() {
            self.check_owners(uid, &node);
        }
    }

    /// Removes the owner's reference from its dependents, then removes its finalizer.
    fn orphan(&mut self, uid: &str, node: &Node) {
        for dependent in self.graph.dependents(uid) {
            if let Some(dependent) = self.graph.get(&dependent) {
                self.disown(dependent, &[uid]);
            }
        }
        self.remove_finalizer(node, ORPHAN);
    }

    /// Removes the finalizer of an owner once no dependent blocks it.
    fn finish_foreground(&mut self, uid: &str, node: &Node) {
        let blocked = self.graph.dependents(uid).iter().any(|dependent| {
            let dependent = self.graph.get(dependent);
            dependent.is_some_and(|dependent| {
                let mut owners = dependent.owners.iter();
                owners.any(|owner| owner.uid == uid && owner.blocks)
            })
        });
        if !blocked {
            self.remove_finalizer(node, FOREGROUND);
        }
    }

    /// Decides by its owners what happens to an object.
    fn check_owners(&mut self, uid: &str, node: &Node) {
        let found: Vec<(&Owner, Found)> = node
            .owners
            .iter()
            .map(|owner| (owner, self.find(uid, node, owner)))
            .collect();
        let any = |wanted: Found| found.iter().any(|(_, found)| *found == wanted);
        if any(Found::Unresolvable) {
            return;
        }
        if any(Found::Solid) {
            let lost: Vec<&str> = found
                .iter()
                .filter(|(_, found)| *found != Found::Solid)
                .map(|(owner, _)| owner.uid.as_str())
                .collect();
            if !lost.is_empty() {
                self.disown(node, &lost);
            }
            return;
        }
        let parent = !self.graph.dependents(uid).is_empty();
        let propagation = if any(Found::Waiting) && parent {
            // Its own dependents block the owner that waits.
            Some(Propagation::Foreground)
        } else {
            None
        };
        self.delete(uid, node, propagation);
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

    fn delete(&self, uid: &str, node: &Node, propagation: Option<Propagation>) {
        let object = self
            .handle
            .get(&node.resource, node.namespace.as_deref(), &node.name);
        let Some(object) = object else { return };
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
            // A concurrent change may have given the object another owner. The event of that change then leads here
            // again.
            resource_version: Some(meta::resource_version(&object).to_owned()),
            ..DeleteOptions::default()
        };
        let namespace = node.namespace.as_deref();
        let deleted = self
            .handle
            .delete(&node.resource, namespace, &node.name, &options);
        if let Err(error) = deleted {
            tracing::debug!(resource = %node.resource, name = %node.name, %error, "the garbage collector cannot delete the object");
        }
    }

    /// Removes owner references from an object.
    fn disown(&self, node: &Node, owners: &[&str]) {
        self.change(node, |object| {
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
        });
    }

    fn remove_finalizer(&self, node: &Node, finalizer: &str) {
        self.change(node, |object| {
            let kept = meta::finalizers(object)
                .into_iter()
                .filter(|name| *name != finalizer)
                .map(str::to_owned)
                .collect();
            meta::set_finalizers(object, kept);
        });
    }

    fn change(&self, node: &Node, change: impl FnMut(&mut Value)) {
        let namespace = node.namespace.as_deref();
        let changed = self
            .handle
            .update(&node.resource, namespace, &node.name, "", change);
        if let Err(error) = changed {
            tracing::debug!(resource = %node.resource, name = %node.name, %error, "the garbage collector cannot change the object");
        }
    }
}
