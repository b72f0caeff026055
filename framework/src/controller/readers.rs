use std::{
    any::{Any, TypeId},
    collections::HashMap,
};

use crate::{
    cache::Lister,
    resource::{Object, Resource},
};

/// The caches of the wired kinds, by type.
#[derive(Default)]
pub(super) struct Readers {
    listers: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Readers {
    pub(super) fn insert<C: Object>(&mut self, lister: Lister<C>) {
        self.listers.insert(TypeId::of::<C>(), Box::new(lister));
    }

    pub(super) fn get<C: Resource>(&self) -> Option<&Lister<C>> {
        self.listers.get(&TypeId::of::<C>())?.downcast_ref()
    }
}
