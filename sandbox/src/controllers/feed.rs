//! Changes of several kinds as one stream, for the controllers inside the sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::api::Handle;
use crate::registry::{GroupResource, Registry};
use crate::store::{Change, Encoded, Key, Subscription};

/// One event for a controller.
pub(crate) enum FeedEvent {
    /// The object has this state: it is new, changed, or seen for the first time.
    Put {
        resource: GroupResource,
        object: Arc<Encoded>,
    },
    /// The object is gone; this was its last state.
    Gone {
        resource: GroupResource,
        object: Arc<Encoded>,
    },
    /// The set of served kinds has changed.
    Kinds,
}

/// Follows kinds from their first object on. Objects have their stored version.
///
/// When a kind is no longer served, the feed reports each of its objects as gone. After a compaction, the feed compares
/// its last known state with the current one and so finds what happened in between.
pub(crate) struct Feed {
    handle: Handle,
    /// The kinds to follow; `None` for all.
    only: Option<Vec<GroupResource>>,
    /// The kinds whose objects stay decoded, because they are often read.
    decoded: Vec<GroupResource>,
    registry: Option<Arc<Registry>>,
    kinds: BTreeMap<GroupResource, Followed>,
    version: u64,
}

struct Followed {
    changes: Subscription,
    /// The last state of each object, to find out after a gap which are gone.
    known: BTreeMap<Key, Arc<Encoded>>,
    /// The same, decoded. `None` for a kind that need not stay decoded.
    decoded: Option<BTreeMap<Key, Arc<Value>>>,
}

impl Feed {
    pub(crate) fn new(handle: &Handle, only: Option<Vec<GroupResource>>) -> Self {
        Self {
            handle: handle.clone(),
            only,
            decoded: Vec::new(),
            registry: None,
            kinds: BTreeMap::new(),
            version: 0,
        }
    }

    /// Keeps the objects of these kinds decoded, so that everybody reads them at little cost.
    pub(crate) fn keep_decoded(mut self, kinds: Vec<GroupResource>) -> Self {
        self.decoded = kinds;
        self
    }

    /// Waits for at least one event since the last call. Cancelling it loses nothing.
    pub(crate) async fn next(&mut self) -> Vec<FeedEvent> {
        loop {
            let version = self.handle.version();
            let events = self.poll();
            if !events.is_empty() {
                return events;
            }
            self.version = version;
            self.handle.core().store.left(self.version).await;
        }
    }

    /// The events since the last call.
    pub(crate) fn poll(&mut self) -> Vec<FeedEvent> {
        let mut events = Vec::new();
        self.follow_registry(&mut events);
        let changed = self.kinds.iter();
        let changed = changed.filter(|(_, followed)| followed.changes.has_changed());
        let changed: Vec<GroupResource> = changed.map(|(resource, _)| resource.clone()).collect();
        for resource in changed {
            self.poll_kind(&resource, &mut events);
        }
        events
    }

    fn follow_registry(&mut self, events: &mut Vec<FeedEvent>) {
        let registry = self.handle.core().registry();
        if self
            .registry
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &registry))
        {
            return;
        }
        events.push(FeedEvent::Kinds);
        let served: Vec<GroupResource> = registry
            .kinds()
            .iter()
            .filter(|kind| kind.storage)
            .map(|kind| kind.group_resource())
            .filter(|resource| {
                self.only
                    .as_ref()
                    .is_none_or(|only| only.contains(resource))
            })
            .collect();
        let ended: Vec<GroupResource> = self
            .kinds
            .keys()
            .filter(|known| !served.contains(known))
            .cloned()
            .collect();
        for resource in ended {
            self.end(&resource, events);
        }
        for resource in served {
            if !self.kinds.contains_key(&resource) {
                self.begin(&resource, BTreeMap::new(), events);
            }
        }
        self.registry = Some(registry);
    }

    /// Starts to follow a kind, and reports what differs from `known`.
    fn begin(
        &mut self,
        resource: &GroupResource,
        mut known: BTreeMap<Key, Arc<Encoded>>,
        events: &mut Vec<FeedEvent>,
    ) {
        // Subscribes before it lists: a change in between is reported twice and never missed.
        let version = self.handle.version();
        let Some(changes) = self.handle.subscribe(resource, version) else {
            gone(resource, known, events);
            return;
        };
        let store = &self.handle.core().store;
        let now = match store.list_encoded(resource, None, None, None) {
            Some(Ok(snapshot)) => snapshot.entries,
            _ => Vec::new(),
        };
        let mut followed = Followed {
            changes,
            known: BTreeMap::new(),
            decoded: self.decoded.contains(resource).then(BTreeMap::new),
        };
        for (key, object) in now {
            if !known
                .remove(&key)
                .is_some_and(|old| Arc::ptr_eq(&old, &object))
            {
                events.push(FeedEvent::Put {
                    resource: resource.clone(),
                    object: object.clone(),
                });
            }
            followed.put(key, object);
        }
        gone(resource, known, events);
        self.kinds.insert(resource.clone(), followed);
    }

    fn end(&mut self, resource: &GroupResource, events: &mut Vec<FeedEvent>) {
        if let Some(followed) = self.kinds.remove(resource) {
            gone(resource, followed.known, events);
        }
    }

    fn poll_kind(&mut self, resource: &GroupResource, events: &mut Vec<FeedEvent>) {
        loop {
            let Some(followed) = self.kinds.get_mut(resource) else {
                return;
            };
            match followed.changes.take() {
                Some(Ok(batch)) if batch.changes.is_empty() => return,
                Some(Ok(batch)) => {
                    for change in batch.changes {
                        followed.learn(resource, &change, events);
                    }
                }
                // Compacted, or the watches of the kind were ended: compare the states.
                Some(Err(_)) | None => {
                    let known = std::mem::take(&mut followed.known);
                    self.kinds.remove(resource);
                    self.begin(resource, known, events);
                    return;
                }
            }
        }
    }
}

impl Followed {
    fn learn(&mut self, resource: &GroupResource, change: &Change, events: &mut Vec<FeedEvent>) {
        let resource = resource.clone();
        if let Some(object) = change.after.clone() {
            self.put(change.key.clone(), object.clone());
            events.push(FeedEvent::Put { resource, object });
        } else if let Some(object) = change.deleted.clone() {
            self.known.remove(&change.key);
            if let Some(decoded) = &mut self.decoded {
                decoded.remove(&change.key);
            }
            events.push(FeedEvent::Gone { resource, object });
        }
    }

    fn put(&mut self, key: Key, object: Arc<Encoded>) {
        if let Some(decoded) = &mut self.decoded {
            decoded.insert(key.clone(), object.value());
        }
        self.known.insert(key, object);
    }
}

fn gone(
    resource: &GroupResource,
    objects: BTreeMap<Key, Arc<Encoded>>,
    events: &mut Vec<FeedEvent>,
) {
    events.extend(objects.into_values().map(|object| FeedEvent::Gone {
        resource: resource.clone(),
        object,
    }));
}
