use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use super::{NO_LABELS, shared_object::SharedBytes};
use crate::resource::{Object, ObjectKey, ObjectMeta, OwnerReference, Selector, Undecodable};

/// How a [`Store`](crate::cache::Store) stores objects, in place of its own form.
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

/// A stored object that is not decoded: in the form that a [`Packing`] gave it, or as the API server sent it.
///
/// The methods that return `None` by default read a part of the object without decoding it. If one returns `None`, the cache
/// decodes the object.
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

    /// Namespace and name. They are borrowed if the packed form has an [`ObjectKey`].
    fn key(&self) -> Option<Cow<'_, ObjectKey>> {
        None
    }

    /// `metadata`
    fn metadata(&self) -> Option<ObjectMeta> {
        None
    }

    /// `metadata.labels`
    fn labels(&self) -> Option<BTreeMap<String, String>> {
        None
    }

    /// `metadata.ownerReferences`
    fn owner_references(&self) -> Option<Vec<OwnerReference>> {
        None
    }

    /// Whether `metadata.deletionTimestamp` is set.
    fn is_deleting(&self) -> Option<bool> {
        None
    }

    /// What could be read of the object, if [`object`](Self::object) was called and failed. The default is `None`.
    fn undecodable(&self) -> Option<&Arc<Undecodable>> {
        None
    }

    /// The decoded object, if it is in memory anyway. The default is `None`.
    fn decoded(&self) -> Option<Arc<K>> {
        None
    }

    /// Bytes that the stored object takes, for the metrics. The default is `None`: the object then counts with its
    /// size as JSON.
    fn size(&self) -> Option<usize> {
        None
    }

    /// The bytes, if the object is as the API server sent it.
    #[doc(hidden)]
    fn shared_bytes(&self) -> Option<SharedBytes> {
        None
    }

    /// Whether the labels of the object match `selector`. The default decodes the object.
    fn matches(&self, selector: &Selector) -> bool {
        let object = self.object();
        object.is_ok_and(|object| selector.matches(object.labels().unwrap_or(&NO_LABELS)))
    }
}
