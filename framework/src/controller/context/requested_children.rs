use std::{borrow::Cow, collections::HashSet};

use super::lazy_shared::LazyShared;
use crate::resource::{ApiResource, ObjectKey};

/// The children that one call asked for. A child is noted before anything is sent, so that pruning keeps it even if the
/// write failed. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestedChildren(LazyShared<HashSet<Child>>);

/// Group, plural and key. The Rust type does not matter: one kind may be written as several types.
type Child = (Cow<'static, str>, Cow<'static, str>, ObjectKey);

impl RequestedChildren {
    /// Notes a child. Returns whether it was not noted before.
    pub(super) fn note(&self, resource: &ApiResource, key: &ObjectKey) -> bool {
        self.0.get_or_make().insert(child(resource, key))
    }

    pub(super) fn contains(&self, resource: &ApiResource, key: &ObjectKey) -> bool {
        let requested = self.0.get();
        requested.is_some_and(|requested| requested.contains(&child(resource, key)))
    }
}

fn child(resource: &ApiResource, key: &ObjectKey) -> Child {
    (resource.group.clone(), resource.plural.clone(), key.clone())
}
