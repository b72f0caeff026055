use std::{fmt, marker::PhantomData, ops::Deref};

use super::context::Context;
use crate::resource::Resource;

/// A [`Context`] for whose writes the next reconcile does not wait. See [`Context::uncached`].
pub struct Uncached<'a, K> {
    context: Context<K>,
    /// Keeps it from outliving the reconcile.
    reconcile: PhantomData<&'a Context<K>>,
}

impl<K: Resource> Uncached<'_, K> {
    pub(super) fn new(context: Context<K>) -> Self {
        Self {
            context,
            reconcile: PhantomData,
        }
    }
}

impl<K> Deref for Uncached<'_, K> {
    type Target = Context<K>;

    fn deref(&self) -> &Context<K> {
        &self.context
    }
}

impl<K> fmt::Debug for Uncached<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Uncached").field(&self.context).finish()
    }
}
