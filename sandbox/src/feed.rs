//! Changes of several kinds as one stream, for the controllers inside of the sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::api::Handle;
use crate::registry::{GroupResource, Registry};
use crate::store::{Change, Subscription};

/// One thing a controller learns.
pub(crate) enum FeedEvent {
    /// The object is as it is here; new, changed or seen for the first time.
    Put {
        resource: GroupResource,
        object: Arc<Value>,
    },
    /// The object is gone; this was its last state.
    Gone {
        resource: GroupResource,
        object: Arc<Value>,
    },
    /// Which kinds are served has changed.
    Kinds,
}

/// Follows kinds from their first object on. Objects are in their stored version.
///
/// A kind that ceases to be served is reported as the end of each of its objects. What happened while the history was
/// compacted is found by comparing.
pub(crate) struct Feed {
    handle: Handle,
    /// Which kinds; `None` for all.
    only: Option<Vec<GroupResource>>,
    registry: Option<Arc<Registry>>,
    kinds: BTreeMap<GroupResource, Followed>,
    version: u64,
}

struct Followed {
    changes: Subscription,
    /// The last state of each object, to know what is gone after a gap.
    known: BTreeMap<String, Arc<Value>>,
}

impl Feed {
    pub(crate) fn new(handle: &Handle, only: Option<Vec<GroupResource>>) -> Self {
        Self {
            handle: handle.clone(),
            only,
            registry: None,
            kinds: BTreeMap::new(),
            version: 0,
        }
    }

    /// What has happened since the last call, at least one thing. Cancelling it loses nothing.
    pub(crate) async fn next(&mut self) -> Vec<FeedEvent> {
        loop {
            let version = self.handle.version();
            let events = self.poll();
            if !events.is_empty() {
                return events;
            }
            self.version = version;
            self.handle.core().store.reached(self.version + 1).await;
        }
    }

    /// What has happened since the last call.
    pub(crate) fn poll(&mut self) -> Vec<FeedEvent> {
        let mut events = Vec::new();
        self.follow_registry(&mut events);
        let resources: Vec<GroupResource> = self.kinds.keys().cloned().collect();
        for resource in resources {
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

    /// Follows a kind from now on, telling what differs from `known`.
    fn begin(
        &mut self,
        resource: &GroupResource,
        mut known: BTreeMap<String, Arc<Value>>,
        events: &mut Vec<FeedEvent>,
    ) {
        // Subscribed before listing: a change in between comes twice, never not at all.
        let version = self.handle.version();
        let Some(changes) = self.handle.subscribe(resource, version) else {
            gone(resource, known, events);
            return;
        };
        let mut now = BTreeMap::new();
        for object in self.handle.list(resource, None) {
            let key = key(&object);
            if !known
                .remove(&key)
                .is_some_and(|old| Arc::ptr_eq(&old, &object))
            {
                events.push(FeedEvent::Put {
                    resource: resource.clone(),
                    object: object.clone(),
                });
            }
            now.insert(key, object);
        }
        gone(resource, known, events);
        let followed = Followed {
            changes,
            known: now,
        };
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
                        followed.learn(resource, change, events);
                    }
                }
                // Compacted, or its watches were ended: compare.
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
    fn learn(&mut self, resource: &GroupResource, change: Change, events: &mut Vec<FeedEvent>) {
        let resource = resource.clone();
        if let Some(object) = change.after {
            self.known
                .insert(change.key.as_str().to_owned(), object.clone());
            events.push(FeedEvent::Put { resource, object });
        } else if let Some(object) = change.deleted {
            self.known.remove(change.key.as_str());
            events.push(FeedEvent::Gone { resource, object });
        }
    }
}

fn gone(
    resource: &GroupResource,
    objects: BTreeMap<String, Arc<Value>>,
    events: &mut Vec<FeedEvent>,
) {
    events.extend(objects.into_values().map(|object| FeedEvent::Gone {
        resource: resource.clone(),
        object,
    }));
}

/// As the store's keys are written.
fn key(object: &Value) -> String {
    use crate::api::meta;
    match meta::text(object, "namespace") {
        "" => meta::name(object).to_owned(),
        namespace => format!("{namespace}/{}", meta::name(object)),
    }
}
