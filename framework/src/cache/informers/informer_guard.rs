use std::{fmt, ops::Deref};

use super::Informers;
use crate::{cache::SharedInformer, resource::Object};

/// Keeps an informer running for as long as its user needs it: see [`Informers::acquire`].
///
/// It dereferences to the [`SharedInformer`] that all callers with the same request get. What a user keeps beyond the
/// guard, such as a [`Lister`](crate::cache::Lister), continues to show the last state.
pub struct InformerGuard<K: Object> {
    informers: Informers,
    informer: SharedInformer<K>,
    released: bool,
}

impl<K: Object> InformerGuard<K> {
    pub(in crate::cache) fn new(informers: Informers, informer: SharedInformer<K>) -> Self {
        Self {
            informers,
            informer,
            released: false,
        }
    }

    /// Releases the guard. If it was the last one, the informer has ended when the future resolves: none of its
    /// requests is in progress, and its listeners are dropped. Dropping the guard does the same without waiting.
    pub async fn release(mut self) {
        self.released = true;
        if self.informers.release(&self.informer) {
            self.informer.stopped().await;
        }
    }
}

impl<K: Object> Drop for InformerGuard<K> {
    fn drop(&mut self) {
        if !self.released {
            self.informers.release(&self.informer);
        }
    }
}

impl<K: Object> Deref for InformerGuard<K> {
    type Target = SharedInformer<K>;

    fn deref(&self) -> &SharedInformer<K> {
        &self.informer
    }
}

impl<K: Object> fmt::Debug for InformerGuard<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InformerGuard")
            .field(&self.informer)
            .finish()
    }
}
