use std::{
    any::{Any, TypeId},
    borrow::Cow,
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
};

use parking_lot::RwLock;

use super::{FindChildren, FoundChild, IndexFunction, index_function::index_id};
use crate::{
    cache::{IndexHandle, Lister},
    resource::{ApiResource, Object},
};

/// The caches of the wired kinds, by Rust type and kind. The caches of sources that are added at run time come and go.
#[derive(Debug, Default)]
pub(crate) struct WiredCaches {
    /// One Rust type reads one kind. Only the types for kinds known at run time read several.
    listers: RwLock<HashMap<TypeId, Vec<WiredCache>>>,
    /// By the type of the index function.
    indexes: RwLock<HashMap<TypeId, Vec<WiredIndex>>>,
    /// The kinds whose objects the controller writes as their owner.
    owned: RwLock<Vec<(ApiResource, FindChildren)>>,
    have_synced: AtomicBool,
}

#[derive(Debug)]
struct WiredIndex {
    resource: ApiResource,
    handle: Box<dyn Any + Send + Sync>,
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

    /// The controller owns objects of this kind, from now on.
    pub(crate) fn set_owned(&self, resource: &ApiResource, children: FindChildren) {
        let mut owned = self.owned.write();
        if !owned.iter().any(|(known, _)| known == resource) {
            owned.push((resource.clone(), children));
        }
    }

    /// The children of the object with this UID, by kind.
    pub(crate) fn children(&self, uid: &str) -> Vec<(Cow<'static, str>, Vec<FoundChild>)> {
        let owned = self.owned.read();
        let found = owned.iter();
        let found = found.map(|(kind, find)| (kind.kind.clone(), find(self, kind, uid)));
        found.collect()
    }

    /// Whether the controller owns objects of this kind, so that their changes lead to reconciles.
    pub(crate) fn is_owned(&self, resource: &ApiResource) -> bool {
        let owned = self.owned.read();
        owned.iter().any(|(known, _)| known == resource)
    }

    /// Makes an index known by its function.
    pub(crate) fn insert_index<C: Object, F: IndexFunction<C>>(
        &self,
        resource: &ApiResource,
        handle: IndexHandle<C, F::Value>,
    ) {
        self.add_index(index_id::<F>(), resource, Box::new(handle));
    }

    fn add_index(&self, id: TypeId, resource: &ApiResource, handle: Box<dyn Any + Send + Sync>) {
        let mut indexes = self.indexes.write();
        indexes.entry(id).or_default().push(WiredIndex {
            resource: resource.clone(),
            handle,
        });
    }

    /// The index of the function `F`; `None` if it was not declared.
    pub(crate) fn index<C: Object, F: IndexFunction<C>>(
        &self,
        resource: &ApiResource,
    ) -> Option<IndexHandle<C, F::Value>> {
        let indexes = self.indexes.read();
        let mut indexes = indexes.get(&index_id::<F>())?.iter();
        let index = indexes.find(|one| one.resource == *resource)?;
        index.handle.downcast_ref().cloned()
    }

    /// Whether all kinds that `wire` declares have synced.
    pub(crate) fn have_synced(&self) -> bool {
        self.have_synced.load(Ordering::Acquire)
    }

    /// All kinds that `wire` declares have synced.
    pub(crate) fn set_synced(&self) {
        self.have_synced.store(true, Ordering::Release);
    }
}
