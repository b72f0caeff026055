use std::{
    any::TypeId,
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::resource::{ObjectKey, Resource};

/// The children that one reconcile asked for, noted before anything is sent: a child of which the write
/// failed is wanted all the same. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    children: Arc<Mutex<HashSet<(TypeId, ObjectKey)>>>,
}

impl Wanted {
    pub(super) fn note<C: Resource>(&self, key: &ObjectKey) {
        self.lock().insert((TypeId::of::<C>(), key.clone()));
    }

    pub(super) fn contains<C: Resource>(&self, key: &ObjectKey) -> bool {
        self.lock().contains(&(TypeId::of::<C>(), key.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(TypeId, ObjectKey)>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
