use std::sync::Arc;

use super::Packed;

/// How a [`Store`](super::Store) keeps objects at rest, if not as they were decoded.
///
/// Everything else of a cache stays as it is: keys, indexes and versions are taken from the decoded
/// object on its way in, and readers get an `Arc<K>` either way. What is packed is decoded for each
/// reader who asks, so that it costs time instead of memory.
pub trait Packing<K>: Send + Sync + 'static {
    /// The packed form of `object`; `None` to keep it decoded.
    fn pack(&self, object: &Arc<K>) -> Option<Arc<dyn Packed<K>>>;
}

/// The same, shared.
impl<K, P: Packing<K> + ?Sized> Packing<K> for Arc<P> {
    fn pack(&self, object: &Arc<K>) -> Option<Arc<dyn Packed<K>>> {
        (**self).pack(object)
    }
}
