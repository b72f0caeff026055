use std::{borrow::Cow, collections::BTreeMap, fmt, num::NonZeroU32, sync::Arc};

use super::{NO_LABELS, Packed, SharedObject};
use crate::resource::{Object, ObjectKey, ObjectMeta, OwnerReference, Selector, Undecodable};

/// A version of an object in a cache, or the place of a version that does not decode ([R8](crate#guarantees)): what a
/// [`Store`](crate::cache::Store) holds for one key, and what an [`Event`](crate::cache::Event) is about.
///
/// It is a handle, and cheap to clone. It does not promise that the object is decoded: [`object`](Self::object) returns the
/// object, and decodes it if needed. The other methods read single fields of the metadata. For these only an object in the
/// form of a [`Packing`](crate::cache::Packing) is decoded, and then only if the packing does not have the field at hand.
///
/// An object of the API server is stored as the server sent it. Whether it decodes is known when somebody has read it for the
/// first time.
pub struct Entry<K>(EntryContent<K>);

enum EntryContent<K> {
    Decoded(Arc<K>),
    /// With the bytes that it takes, if it reports them.
    Packed(Arc<dyn Packed<K>>, Option<NonZeroU32>),
    Undecodable {
        object: Arc<Undecodable>,
        last: Option<Arc<K>>,
    },
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            EntryContent::Decoded(object) => EntryContent::Decoded(object.clone()),
            EntryContent::Packed(packed, size) => EntryContent::Packed(packed.clone(), *size),
            EntryContent::Undecodable { object, last } => EntryContent::Undecodable {
                object: object.clone(),
                last: last.clone(),
            },
        })
    }
}

impl<K> From<Arc<K>> for Entry<K> {
    fn from(object: Arc<K>) -> Self {
        Self(EntryContent::Decoded(object))
    }
}

impl<K> From<K> for Entry<K> {
    fn from(object: K) -> Self {
        Arc::new(object).into()
    }
}

impl<K> Entry<K> {
    /// The last version that decoded, if it is stored decoded.
    pub(crate) fn stored_object(&self) -> Option<&Arc<K>> {
        match &self.0 {
            EntryContent::Decoded(object) => Some(object),
            EntryContent::Packed(..) => None,
            EntryContent::Undecodable { last, .. } => last.as_ref(),
        }
    }

    /// Bytes of the stored object, if it is packed and reports its size.
    pub(crate) fn packed_size(&self) -> Option<usize> {
        match &self.0 {
            EntryContent::Packed(_, size) => size.map(|size| size.get() as usize),
            EntryContent::Decoded(_) | EntryContent::Undecodable { .. } => None,
        }
    }

    /// Whether this is the place of an object that was known not to decode when it was stored.
    pub(in crate::cache) fn is_place(&self) -> bool {
        matches!(self.0, EntryContent::Undecodable { .. })
    }
}

impl<K: Object> Entry<K> {
    #[cfg(test)]
    pub(in crate::cache) fn decoded(object: Arc<K>) -> Self {
        Self(EntryContent::Decoded(object))
    }

    pub(in crate::cache) fn packed(packed: Arc<dyn Packed<K>>) -> Self {
        let size = packed
            .size()
            .map(|size| size.try_into().unwrap_or(u32::MAX));
        Self(EntryContent::Packed(packed, size.and_then(NonZeroU32::new)))
    }

    pub(in crate::cache) fn of_undecodable(object: Arc<Undecodable>, last: Option<Arc<K>>) -> Self {
        Self(EntryContent::Undecodable { object, last })
    }

    /// Returns the object.
    ///
    /// # Errors
    /// Returns what could be read of the object, with the reason, if the present version does not decode.
    pub fn object(&self) -> Result<Arc<K>, Arc<Undecodable>> {
        match &self.0 {
            EntryContent::Decoded(object) => Ok(object.clone()),
            EntryContent::Packed(packed, _) => packed.object(),
            EntryContent::Undecodable { object, .. } => Err(object.clone()),
        }
    }

    /// Returns the object, and does not copy the handle of a decoded one.
    ///
    /// # Errors
    /// As for [`object`](Self::object).
    pub(in crate::cache) fn into_object(self) -> Result<Arc<K>, Arc<Undecodable>> {
        match self.0 {
            EntryContent::Decoded(object) => Ok(object),
            EntryContent::Packed(packed, _) => packed.object(),
            EntryContent::Undecodable { object, .. } => Err(object),
        }
    }

    /// What could be read of the present version, if it is known that it does not decode. This decodes nothing: for a
    /// version that nobody has read yet it returns `None`.
    pub fn undecodable(&self) -> Option<&Arc<Undecodable>> {
        match &self.0 {
            EntryContent::Decoded(_) => None,
            EntryContent::Packed(packed, _) => packed.undecodable(),
            EntryContent::Undecodable { object, .. } => Some(object),
        }
    }

    /// The last version that decoded: the present one if it decodes. An earlier version is returned only if the cache knew,
    /// when it stored the present one or soon after, that this does not decode; an [`Event`](crate::cache::Event) has the
    /// version before.
    pub fn last_object(&self) -> Option<Arc<K>> {
        match &self.0 {
            EntryContent::Decoded(object) => Some(object.clone()),
            EntryContent::Packed(packed, _) => packed.object().ok(),
            EntryContent::Undecodable { last, .. } => last.clone(),
        }
    }

    /// The decoded form of a packed object, if it is in memory anyway.
    pub(crate) fn decoded_object(&self) -> Option<Arc<K>> {
        match &self.0 {
            EntryContent::Packed(packed, _) => packed.decoded(),
            EntryContent::Decoded(_) | EntryContent::Undecodable { .. } => None,
        }
    }

    /// The metadata of a packed object, if they can be read without decoding it.
    pub(crate) fn packed_metadata(&self) -> Option<ObjectMeta> {
        match &self.0 {
            EntryContent::Packed(packed, _) => packed.metadata(),
            EntryContent::Decoded(_) | EntryContent::Undecodable { .. } => None,
        }
    }

    /// The object for a cache of metadata. `None` if it does not decode, or is in the form of a
    /// [`Packing`](crate::cache::Packing).
    pub(in crate::cache) fn shared(&self) -> Option<SharedObject> {
        match &self.0 {
            EntryContent::Decoded(object) => Some(SharedObject::Decoded(object.clone())),
            EntryContent::Packed(packed, _) => packed.shared_bytes().map(SharedObject::Encoded),
            EntryContent::Undecodable { .. } => None,
        }
    }

    /// Calls `function` with the present version, in the form in which it arrived.
    pub(in crate::cache) fn with_version<T>(
        &self,
        function: impl FnOnce(&IncomingObject<'_, K>) -> T,
    ) -> T {
        match &self.0 {
            EntryContent::Decoded(object) => function(&IncomingObject::Object(object)),
            EntryContent::Packed(packed, _) => match packed.owner_references() {
                Some(owners) => function(&IncomingObject::Unread {
                    packed: &**packed,
                    owners: &owners,
                }),
                None => match packed.object() {
                    Ok(object) => function(&IncomingObject::Object(&object)),
                    Err(object) => function(&IncomingObject::Undecodable {
                        object: &object,
                        last: None,
                    }),
                },
            },
            EntryContent::Undecodable { object, last } => function(&IncomingObject::Undecodable {
                object,
                last: last.as_deref(),
            }),
        }
    }

    /// Namespace and name.
    pub fn key(&self) -> ObjectKey {
        match &self.0 {
            EntryContent::Decoded(object) => object.key(),
            EntryContent::Packed(packed, _) => match packed.key() {
                Some(key) => key.into_owned(),
                None => match packed.object() {
                    Ok(object) => object.key(),
                    Err(object) => object.key.clone(),
                },
            },
            EntryContent::Undecodable { object, .. } => object.key.clone(),
        }
    }

    /// Calls `function` with namespace and name. Unlike [`key`](Self::key) it allocates nothing for a decoded object, and copies no handle for an encoded one.
    pub(in crate::cache) fn with_name<T>(
        &self,
        function: impl FnOnce(Option<&str>, &str) -> T,
    ) -> T {
        let key = match &self.0 {
            EntryContent::Decoded(object) => return function(object.namespace(), object.name()),
            EntryContent::Packed(packed, _) => match packed.key() {
                Some(key) => key,
                None => Cow::Owned(self.key()),
            },
            EntryContent::Undecodable { object, .. } => Cow::Borrowed(&object.key),
        };
        function(key.namespace(), key.name())
    }

    /// UID of the present version.
    pub fn uid(&self) -> Option<&str> {
        match &self.0 {
            EntryContent::Decoded(object) => object.uid(),
            EntryContent::Packed(packed, _) => packed.uid(),
            EntryContent::Undecodable { object, .. } => object.uid.as_deref(),
        }
    }

    /// Resource version of the present version.
    pub fn resource_version(&self) -> Option<&str> {
        match &self.0 {
            EntryContent::Decoded(object) => object.resource_version(),
            EntryContent::Packed(packed, _) => packed.resource_version(),
            EntryContent::Undecodable { object, .. } => object.resource_version.as_deref(),
        }
    }

    /// The labels of the present version. Those of an object that does not decode are read leniently.
    pub fn labels(&self) -> Cow<'_, BTreeMap<String, String>> {
        self.field(
            |packed| packed.labels(),
            |object| object.labels().unwrap_or(&NO_LABELS),
            |undecodable| &undecodable.labels,
        )
    }

    /// The owner references of the present version. Those of an object that does not decode are read leniently.
    pub fn owner_references(&self) -> Cow<'_, [OwnerReference]> {
        self.field(
            |packed| packed.owner_references(),
            |object| {
                let references = object.metadata().owner_references.as_deref();
                references.unwrap_or_default()
            },
            |undecodable| &undecodable.owner_references,
        )
    }

    /// Whether the deletion of the object has begun, according to the present version.
    pub fn is_deleting(&self) -> bool {
        match &self.0 {
            EntryContent::Decoded(object) => object.is_deleting(),
            EntryContent::Packed(packed, _) => match packed.is_deleting() {
                Some(is_deleting) => is_deleting,
                None => match packed.object() {
                    Ok(object) => object.is_deleting(),
                    Err(object) => object.is_deleting,
                },
            },
            EntryContent::Undecodable { object, .. } => object.is_deleting,
        }
    }

    /// A field of the present version. It is borrowed, unless the object has to be decoded for it.
    fn field<T: ToOwned + ?Sized>(
        &self,
        of_packed: impl FnOnce(&dyn Packed<K>) -> Option<T::Owned>,
        of_object: impl FnOnce(&K) -> &T,
        of_undecodable: impl FnOnce(&Undecodable) -> &T,
    ) -> Cow<'_, T> {
        match &self.0 {
            EntryContent::Decoded(object) => Cow::Borrowed(of_object(object)),
            EntryContent::Packed(packed, _) => Cow::Owned(match of_packed(&**packed) {
                Some(field) => field,
                None => match packed.object() {
                    Ok(object) => of_object(&object).to_owned(),
                    Err(object) => of_undecodable(&object).to_owned(),
                },
            }),
            EntryContent::Undecodable { object, .. } => Cow::Borrowed(of_undecodable(object)),
        }
    }

    /// UID of the present version, or of the last one that decoded if the present one's cannot be read.
    pub(crate) fn known_uid(&self) -> Option<&str> {
        self.uid().or_else(|| match &self.0 {
            EntryContent::Undecodable { last, .. } => last.as_deref()?.uid(),
            EntryContent::Decoded(_) | EntryContent::Packed(..) => None,
        })
    }

    /// Whether the object with the same key and `uid` is another object: both UIDs are known, and they differ.
    pub(in crate::cache) fn is_replaced_by(&self, uid: Option<&str>) -> bool {
        matches!((self.known_uid(), uid), (Some(old), Some(new)) if old != new)
    }

    /// Whether the labels of the present version match `selector`. The labels of an object that does not decode are
    /// read leniently.
    pub fn matches(&self, selector: &Selector) -> bool {
        match &self.0 {
            EntryContent::Decoded(object) => {
                selector.matches(object.labels().unwrap_or(&NO_LABELS))
            }
            EntryContent::Packed(packed, _) => packed.matches(selector),
            EntryContent::Undecodable { object, .. } => selector.matches(&object.labels),
        }
    }
}

/// Shows resource version and error only: objects may hold secrets.
impl<K: Object> fmt::Debug for Entry<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("resource_version", &self.resource_version())
            .field("undecodable", &self.undecodable())
            .finish_non_exhaustive()
    }
}

/// A version of an object on its way into a store.
pub(in crate::cache) enum IncomingObject<'a, K> {
    Object(&'a K),
    /// The object is not decoded, unless an index needs it.
    Unread {
        packed: &'a dyn Packed<K>,
        owners: &'a [OwnerReference],
    },
    Undecodable {
        object: &'a Undecodable,
        last: Option<&'a K>,
    },
}

impl<K: Object> IncomingObject<'_, K> {
    /// The UIDs of the owners.
    pub(in crate::cache) fn owner_uids(&self) -> impl Iterator<Item = &str> + Clone {
        let owners = match self {
            Self::Object(object) => object.metadata().owner_references.as_deref(),
            Self::Unread { owners, .. } => Some(*owners),
            Self::Undecodable { object, .. } => Some(&*object.owner_references),
        };
        let owners = owners.unwrap_or_default().iter();
        owners.map(|owner| owner.uid.as_str())
    }
}
