use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::resource::{ApiResource, ObjectKey};

/// The children that one reconcile asked for, noted before anything is sent: a child of which the write
/// failed is wanted all the same. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    children: Arc<Mutex<HashSet<Child>>>,
}

/// Group and plural, whatever the Rust type: one kind may be written through several.
type Child = (Cow<'static, str>, Cow<'static, str>, ObjectKey);

impl Wanted {
    pub(super) fn note(&self, resource: &ApiResource, key: &ObjectKey) {
        self.lock().insert(child(resource, key));
    }

    pub(super) fn contains(&self, resource: &ApiResource, key: &ObjectKey) -> bool {
        self.lock().contains(&child(resource, key))
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Child>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn child(resource: &ApiResource, key: &ObjectKey) -> Child {
    (resource.group.clone(), resource.plural.clone(), key.clone())
}
