use std::{borrow::Borrow, ops::Deref, sync::Arc};

use crate::cache::Packed;

/// An object as a [`ListerWatcher`](crate::cache::ListerWatcher) brings it: decoded, and perhaps also in the form in
/// which the cache is to store it.
pub struct ReceivedObject<K> {
    pub(crate) object: Arc<K>,
    /// The cache stores this instead of the object, unless the user has chosen another form.
    pub(crate) packed: Option<Arc<dyn Packed<K>>>,
}

impl<K> From<Arc<K>> for ReceivedObject<K> {
    fn from(object: Arc<K>) -> Self {
        let packed = None;
        Self { object, packed }
    }
}

impl<K> From<K> for ReceivedObject<K> {
    fn from(object: K) -> Self {
        Arc::new(object).into()
    }
}

impl<K> Deref for ReceivedObject<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.object
    }
}

impl<K> Borrow<K> for ReceivedObject<K> {
    fn borrow(&self) -> &K {
        &self.object
    }
}
