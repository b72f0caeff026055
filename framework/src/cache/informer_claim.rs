use std::{fmt, ops::Deref};

use super::{Informers, SharedInformer};
use crate::resource::Object;

/// An informer for as long as it is needed; see [`Informers::claim`].
///
/// It is the [`SharedInformer`] that all others get who ask for the same. What is held of that beyond the claim, such as
/// a [`Lister`](super::Lister), keeps showing what was read until then.
pub struct InformerClaim<K: Object> {
    informers: Informers,
    informer: SharedInformer<K>,
    released: bool,
}

impl<K: Object> InformerClaim<K> {
    pub(super) fn new(informers: Informers, informer: SharedInformer<K>) -> Self {
        Self {
            informers,
            informer,
            released: false,
        }
    }

    /// Gives the claim back. If it was the last, the informer has ended when the future is done: no request of it is under
    /// way, and its listeners are gone. Dropping the claim does the same without waiting.
    pub async fn release(mut self) {
        self.released = true;
        if self.informers.give_back(&self.informer) {
            self.informer.stopped().await;
        }
    }
}

impl<K: Object> Drop for InformerClaim<K> {
    fn drop(&mut self) {
        if !self.released {
            self.informers.give_back(&self.informer);
        }
    }
}

impl<K: Object> Deref for InformerClaim<K> {
    type Target = SharedInformer<K>;

    fn deref(&self) -> &SharedInformer<K> {
        &self.informer
    }
}

impl<K: Object> fmt::Debug for InformerClaim<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InformerClaim")
            .field(&self.informer)
            .finish()
    }
}
