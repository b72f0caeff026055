use std::sync::Arc;

use super::NO_LABELS;
use crate::resource::{Object, ObjectMeta, Selector, Undecodable};

/// How a [`Store`](crate::cache::Store) stores objects, if neither decoded nor as the server sent them.
///
/// Nothing else about the cache changes: keys, indexes and versions come from the decoded object on its way in, and
/// readers get an `Arc<K>` in both cases. A packed object is decoded for each read, which trades time for memory.
pub trait Packing<K>: Send + Sync + 'static {
    /// Returns the packed form of `object`, or `None` to store it decoded.
    fn pack(&self, object: &Arc<K>) -> Option<Arc<dyn Packed<K>>>;
}

/// A shared packing.
impl<K, P: Packing<K> + ?Sized> Packing<K> for Arc<P> {
    fn pack(&self, object: &Arc<K>) -> Option<Arc<dyn Packed<K>>> {
        (**self).pack(object)
    }
}

/// A stored object, in the form that a [`Packing`] gave it.
pub trait Packed<K: Object>: Send + Sync {
    /// `metadata.uid`, without decoding the object.
    fn uid(&self) -> Option<&str>;

    /// `metadata.resourceVersion`, without decoding the object.
    fn resource_version(&self) -> Option<&str>;

    /// Decodes the object.
    ///
    /// # Errors
    /// Returns what could be read of the object, with the reason, if the packed form does not decode any more.
    fn object(&self) -> Result<Arc<K>, Arc<Undecodable>>;

    /// `metadata`, without decoding the object. The default is `None`: the object is then decoded.
    fn metadata(&self) -> Option<ObjectMeta> {
        None
    }

    /// Offers the decoded object, so that the first reads need not decode it. With `is_change`, the object has just changed,
    /// and is likely to be read soon. The default does nothing.
    fn keep_decoded(&self, object: &Arc<K>, is_change: bool) {
        _ = (object, is_change);
    }

    /// Bytes that the stored object takes, for the metrics. The default is `None`: the object then counts with its
    /// size as JSON.
    fn size(&self) -> Option<usize> {
        None
    }

    /// Whether the labels of the object match `selector`. The default decodes the object.
    fn matches(&self, selector: &Selector) -> bool {
        let object = self.object();
        object.is_ok_and(|object| selector.matches(object.labels().unwrap_or(&NO_LABELS)))
    }
}
