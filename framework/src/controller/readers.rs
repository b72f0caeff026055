use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use crate::{
    cache::Lister,
    resource::{Object, Resource},
};

/// The caches of the wired kinds, by type; those of sources added at run time come and go.
#[derive(Debug, Default)]
pub(super) struct Readers {
    listers: RwLock<HashMap<TypeId, Reader>>,
}

#[derive(Debug)]
struct Reader {
    lister: Box<dyn Any + Send + Sync>,
    /// How many sources made the kind readable.
    sources: usize,
}

impl Readers {
    pub(super) fn insert<C: Object>(&self, lister: Lister<C>) {
        let mut listers = self.listers.write().unwrap_or_else(PoisonError::into_inner);
        let reader = listers.entry(TypeId::of::<C>()).or_insert_with(|| Reader {
            lister: Box::new(lister),
            sources: 0,
        });
        reader.sources += 1;
    }

    /// Takes back one [`insert`](Self::insert).
    pub(super) fn remove<C: Object>(&self) {
        let mut listers = self.listers.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = listers.get_mut(&TypeId::of::<C>()) {
            reader.sources -= 1;
            if reader.sources == 0 {
                listers.remove(&TypeId::of::<C>());
            }
        }
    }

    pub(super) fn get<C: Resource>(&self) -> Option<Lister<C>> {
        let listers = self.listers.read().unwrap_or_else(PoisonError::into_inner);
        let lister = listers.get(&TypeId::of::<C>())?.lister.downcast_ref();
        Lister::clone(lister?).into()
    }
}
