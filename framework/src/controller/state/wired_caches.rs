use std::{
    any::{Any, TypeId},
    collections::HashMap,
};

use parking_lot::RwLock;

use crate::{
    cache::Lister,
    resource::{ApiResource, Object},
};

/// The caches of the wired kinds, by Rust type and kind. The caches of sources that are added at run time come and go.
#[derive(Debug, Default)]
pub(crate) struct WiredCaches {
    /// One Rust type reads one kind. Only the types for kinds known at run time read several.
    listers: RwLock<HashMap<TypeId, Vec<WiredCache>>>,
}

#[derive(Debug)]
struct WiredCache {
    resource: ApiResource,
    lister: Box<dyn Any + Send + Sync>,
    /// The number of sources that made the kind readable.
    sources: usize,
}

impl WiredCaches {
    pub(crate) fn insert<C: Object>(&self, resource: &ApiResource, lister: Lister<C>) {
        self.add(TypeId::of::<C>(), resource, Box::new(lister));
    }

    fn add(&self, id: TypeId, resource: &ApiResource, lister: Box<dyn Any + Send + Sync>) {
        let mut listers = self.listers.write();
        let caches = listers.entry(id).or_default();
        let known = caches.iter_mut().find(|one| one.resource == *resource);
        match known {
            Some(cache) => cache.sources += 1,
            None => caches.push(WiredCache {
                resource: resource.clone(),
                lister,
                sources: 1,
            }),
        }
    }

    /// Undoes one [`insert`](Self::insert). The cache is removed with the last one.
    pub(crate) fn remove<C: Object>(&self, resource: &ApiResource) {
        self.remove_one(TypeId::of::<C>(), resource);
    }

    fn remove_one(&self, id: TypeId, resource: &ApiResource) {
        let mut listers = self.listers.write();
        if let Some(caches) = listers.get_mut(&id) {
            let known = caches.iter_mut().find(|one| one.resource == *resource);
            known.into_iter().for_each(|cache| cache.sources -= 1);
            caches.retain(|cache| cache.sources > 0);
        }
    }

    pub(crate) fn get<C: Object>(&self, resource: &ApiResource) -> Option<Lister<C>> {
        let listers = self.listers.read();
        let mut caches = listers.get(&TypeId::of::<C>())?.iter();
        let cache = caches.find(|one| one.resource == *resource)?;
        cache.lister.downcast_ref().cloned()
    }
}
