use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    cache::Store,
    controller::caches::WiredCaches,
    resource::{ApiResource, Object, ObjectKey},
};

/// Replaces the objects of the cache, which have this resource version then.
type SetObjects = Box<dyn FnMut(&[Value], &str) + Send>;

/// A readable cache without an informer: its owner sets all objects at once.
pub(crate) struct FixedCache {
    pub(crate) resource: ApiResource,
    set: SetObjects,
}

impl FixedCache {
    /// Makes the kind readable as `C`.
    pub(crate) fn new<C>(resource: &ApiResource, caches: &WiredCaches) -> Self
    where
        C: Object + DeserializeOwned,
    {
        let mut store = Store::<C>::new();
        caches.insert(resource, store.lister());
        Self {
            resource: resource.clone(),
            set: Box::new(move |objects, version| set(&mut store, objects, version)),
        }
    }

    /// Makes the cache hold `objects`, except those that do not decode. `version` is the version of the collection.
    pub(crate) fn set(&mut self, objects: &[Value], version: &str) {
        (self.set)(objects, version);
    }
}

fn set<C>(store: &mut Store<C>, objects: &[Value], version: &str)
where
    C: Object + DeserializeOwned,
{
    let mut gone: Vec<ObjectKey> = store.working().iter().map(|(key, _)| key.clone()).collect();
    let decoded = objects
        .iter()
        .filter_map(|object| serde_json::from_value::<C>(object.clone()).ok());
    for object in decoded {
        let key = object.key();
        gone.retain(|one| *one != key);
        let known = store.get(&key).and_then(|entry| entry.object().ok());
        let same = known.is_some_and(|known| known.resource_version() == object.resource_version());
        if !same {
            store.insert(key, Arc::new(object));
        }
    }
    for key in gone {
        store.remove(&key);
    }
    store.set_resource_version(version);
    store.publish();
}
