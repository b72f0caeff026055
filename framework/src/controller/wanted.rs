use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::resource::{ObjectKey, Resource};

/// The children that one reconcile asked for, noted before anything is sent: a child of which the write
/// failed is wanted all the same. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    children: Arc<Mutex<HashSet<Child>>>,
}

/// Group and plural, whatever the Rust type: one kind may be written through several.
type Child = (&'static str, &'static str, ObjectKey);

impl Wanted {
    pub(super) fn note<C: Resource>(&self, key: &ObjectKey) {
        self.lock().insert(child::<C>(key));
    }

    pub(super) fn contains<C: Resource>(&self, key: &ObjectKey) -> bool {
        self.lock().contains(&child::<C>(key))
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Child>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn child<C: Resource>(key: &ObjectKey) -> Child {
    (C::GROUP, C::PLURAL, key.clone())
}
