use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::owner::Owner;
use crate::meta;
use crate::registry::GroupResource;

/// The location of an object, and its owners.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) resource: GroupResource,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) owners: Vec<Owner>,
    /// It is being deleted and waits for its dependents.
    pub(super) foreground: bool,
    /// It is being deleted and its dependents stay.
    pub(super) orphans: bool,
    pub(super) deleting: bool,
}

/// Every object with its dependents, by UID.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: BTreeMap<String, Node>,
    dependents: BTreeMap<String, BTreeSet<String>>,
}

impl Node {
    fn of(resource: &GroupResource, object: &Value) -> Self {
        let finalizers = meta::finalizers(object);
        let deleting = meta::is_deleting(object);
        let namespace = meta::text(object, "namespace");
        Self {
            resource: resource.clone(),
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            name: meta::name(object).to_owned(),
            owners: Owner::of(object),
            foreground: deleting && finalizers.contains(&"foregroundDeletion"),
            orphans: deleting && finalizers.contains(&"orphan"),
            deleting,
        }
    }

    /// Whether the object holds this owner, which waits for its dependents.
    pub(super) fn blocks(&self, owner: &str) -> bool {
        let mut owners = self.owners.iter();
        owners.any(|known| known.uid == owner && known.blocks)
    }
}

impl Graph {
    /// Records the state of an object and returns its UID.
    pub(super) fn put(&mut self, resource: &GroupResource, object: &Arc<Value>) -> String {
        let uid = meta::uid(object).to_owned();
        let node = Node::of(resource, object);
        self.unlink(&uid);
        for owner in &node.owners {
            let dependents = self.dependents.entry(owner.uid.clone()).or_default();
            dependents.insert(uid.clone());
        }
        self.nodes.insert(uid.clone(), node);
        uid
    }

    /// Removes an object and returns its last entry.
    pub(super) fn remove(&mut self, uid: &str) -> Option<Node> {
        self.unlink(uid);
        self.nodes.remove(uid)
    }

    fn unlink(&mut self, uid: &str) {
        let Some(node) = self.nodes.get(uid) else {
            return;
        };
        for owner in &node.owners {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(uid);
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
    }

    pub(super) fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// UIDs of the objects that name this one as an owner.
    pub(super) fn dependents(&self, uid: &str) -> Vec<String> {
        let dependents = self.dependents.get(uid);
        dependents.into_iter().flatten().cloned().collect()
    }

    /// UIDs of all objects that have owners.
    pub(super) fn owned(&self) -> Vec<String> {
        let owned = self
            .nodes
            .iter()
            .filter(|(_, node)| !node.owners.is_empty());
        owned.map(|(uid, _)| uid.clone()).collect()
    }
}
