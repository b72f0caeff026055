use std::{borrow::Cow, collections::HashSet};

use super::late::Late;
use crate::resource::{ApiResource, ObjectKey};

/// The children that one reconcile asked for, noted before anything is sent: a child of which the write
/// failed is wanted all the same. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted(Late<HashSet<Child>>);

/// Group and plural, whatever the Rust type: one kind may be written through several.
type Child = (Cow<'static, str>, Cow<'static, str>, ObjectKey);

impl Wanted {
    /// Whether it is noted for the first time.
    pub(super) fn note(&self, resource: &ApiResource, key: &ObjectKey) -> bool {
        self.0.get_or_make().insert(child(resource, key))
    }

    pub(super) fn contains(&self, resource: &ApiResource, key: &ObjectKey) -> bool {
        let wanted = self.0.get();
        wanted.is_some_and(|wanted| wanted.contains(&child(resource, key)))
    }
}

fn child(resource: &ApiResource, key: &ObjectKey) -> Child {
    (resource.group.clone(), resource.plural.clone(), key.clone())
}
