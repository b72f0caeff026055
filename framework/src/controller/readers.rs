use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use crate::{
    cache::Lister,
    resource::{ApiResource, Object},
};

/// The caches of the wired kinds, by type and kind; those of sources added at run time come and go.
#[derive(Debug, Default)]
pub(super) struct Readers {
    /// One type reads one kind, but for those of kinds that are known only at run time.
    listers: RwLock<HashMap<TypeId, Vec<Reader>>>,
}

#[derive(Debug)]
struct Reader {
    resource: ApiResource,
    lister: Box<dyn Any + Send + Sync>,
    /// How many sources made the kind readable.
    sources: usize,
}

impl Readers {
    pub(super) fn insert<C: Object>(&self, resource: &ApiResource, lister: Lister<C>) {
        self.add(TypeId::of::<C>(), resource, Box::new(lister));
    }

    fn add(&self, id: TypeId, resource: &ApiResource, lister: Box<dyn Any + Send + Sync>) {
        let mut listers = self.listers.write().unwrap_or_else(PoisonError::into_inner);
        let readers = listers.entry(id).or_default();
        let known = readers.iter_mut().find(|one| one.resource == *resource);
        match known {
            Some(reader) => reader.sources += 1,
            None => readers.push(Reader {
                resource: resource.clone(),
                lister,
                sources: 1,
            }),
        }
    }

    /// Takes back one [`insert`](Self::insert).
    pub(super) fn remove<C: Object>(&self, resource: &ApiResource) {
        self.take_back(TypeId::of::<C>(), resource);
    }

    fn take_back(&self, id: TypeId, resource: &ApiResource) {
        let mut listers = self.listers.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(readers) = listers.get_mut(&id) {
            let known = readers.iter_mut().find(|one| one.resource == *resource);
            known.into_iter().for_each(|reader| reader.sources -= 1);
            readers.retain(|reader| reader.sources > 0);
        }
    }

    pub(super) fn get<C: Object>(&self, resource: &ApiResource) -> Option<Lister<C>> {
        let listers = self.listers.read().unwrap_or_else(PoisonError::into_inner);
        let mut readers = listers.get(&TypeId::of::<C>())?.iter();
        let reader = readers.find(|one| one.resource == *resource)?;
        reader.lister.downcast_ref().cloned()
    }
}
