use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::objects::Objects;
use crate::{
    cache::Store,
    controller::readers::Readers,
    resource::{ApiResource, Object, ObjectKey},
};

/// Makes a cache be as the objects are.
pub(in crate::controller) type Refill = Box<dyn FnMut(&Objects) + Send>;

/// Makes `C` readable, and gives what fills its cache.
pub(in crate::controller) fn refill<C>(resource: &ApiResource, readers: &Readers) -> Refill
where
    C: Object + DeserializeOwned,
{
    let mut store = Store::<C>::new();
    readers.insert(resource, store.lister());
    let resource = resource.clone();
    Box::new(move |objects| {
        let mut gone: Vec<ObjectKey> = store.working().iter().map(|(key, _)| key.clone()).collect();
        for object in objects.of::<C>(&resource) {
            let key = object.key();
            gone.retain(|one| *one != key);
            let known = store.get(&key).and_then(|entry| entry.object().ok());
            let same =
                known.is_some_and(|known| known.resource_version() == object.resource_version());
            if !same {
                store.insert(key, Arc::new(object));
            }
        }
        for key in gone {
            store.remove(&key);
        }
        store.set_resource_version(&objects.version().to_string());
        store.publish();
    })
}
