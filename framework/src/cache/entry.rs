use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{Packed, incoming::Incoming};
use crate::resource::{Object, Selector, Undecodable};

/// The labels of an object that has none.
pub(super) static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

/// What a [`Store`](super::Store) holds for one key: an object, or the place of one that does not
/// decode (design promise R8).
///
/// It says what is known of the object without promising that the object lies there decoded:
/// [`object`](Self::object) gives it.
pub struct Entry<K>(Held<K>);

enum Held<K> {
    Object(Arc<K>),
    Packed(Arc<dyn Packed<K>>),
    Undecodable {
        object: Arc<Undecodable>,
        last: Option<Arc<K>>,
    },
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Held::Object(object) => Held::Object(object.clone()),
            Held::Packed(packed) => Held::Packed(packed.clone()),
            Held::Undecodable { object, last } => Held::Undecodable {
                object: object.clone(),
                last: last.clone(),
            },
        })
    }
}

impl<K: Object> Entry<K> {
    pub(super) fn decoded(object: Arc<K>) -> Self {
        Self(Held::Object(object))
    }

    pub(super) fn packed(packed: Arc<dyn Packed<K>>) -> Self {
        Self(Held::Packed(packed))
    }

    pub(super) fn of_undecodable(object: Arc<Undecodable>, last: Option<Arc<K>>) -> Self {
        Self(Held::Undecodable { object, last })
    }

    /// The object, or why it cannot be had.
    ///
    /// # Errors
    /// The present version does not decode.
    pub fn object(&self) -> Result<Arc<K>, Arc<Undecodable>> {
        match &self.0 {
            Held::Object(object) => Ok(object.clone()),
            Held::Packed(packed) => packed.object(),
            Held::Undecodable { object, .. } => Err(object.clone()),
        }
    }

    /// What could be read of the present version, if it did not decode when it came.
    pub fn undecodable(&self) -> Option<&Arc<Undecodable>> {
        match &self.0 {
            Held::Object(_) | Held::Packed(_) => None,
            Held::Undecodable { object, .. } => Some(object),
        }
    }

    /// The last version that did decode: the present one, if it does.
    pub fn last_object(&self) -> Option<Arc<K>> {
        match &self.0 {
            Held::Object(object) => Some(object.clone()),
            Held::Packed(packed) => packed.object().ok(),
            Held::Undecodable { last, .. } => last.clone(),
        }
    }

    /// Calls `function` with the present version, as it once came in.
    pub(super) fn with_version<T>(&self, function: impl FnOnce(&Incoming<'_, K>) -> T) -> T {
        match &self.0 {
            Held::Object(object) => function(&Incoming::Object(object)),
            Held::Packed(packed) => match packed.object() {
                Ok(object) => function(&Incoming::Object(&object)),
                Err(object) => function(&Incoming::Undecodable {
                    object: &object,
                    last: None,
                }),
            },
            Held::Undecodable { object, last } => function(&Incoming::Undecodable {
                object,
                last: last.as_deref(),
            }),
        }
    }

    /// Bytes of the object at rest, if it is packed and tells.
    pub(super) fn packed_size(&self) -> Option<usize> {
        match &self.0 {
            Held::Packed(packed) => packed.size(),
            Held::Object(_) | Held::Undecodable { .. } => None,
        }
    }

    /// UID of the present version.
    pub fn uid(&self) -> Option<&str> {
        match &self.0 {
            Held::Object(object) => object.uid(),
            Held::Packed(packed) => packed.uid(),
            Held::Undecodable { object, .. } => object.uid.as_deref(),
        }
    }

    /// Resource version of the present version.
    pub fn resource_version(&self) -> Option<&str> {
        match &self.0 {
            Held::Object(object) => object.resource_version(),
            Held::Packed(packed) => packed.resource_version(),
            Held::Undecodable { object, .. } => object.resource_version.as_deref(),
        }
    }

    /// Whether the labels of the present version are those that `selector` means; those of an
    /// object that does not decode are read leniently.
    pub fn matches(&self, selector: &Selector) -> bool {
        match &self.0 {
            Held::Object(object) => selector.matches(object.labels().unwrap_or(&NO_LABELS)),
            Held::Packed(packed) => packed.matches(selector),
            Held::Undecodable { object, .. } => selector.matches(&object.labels),
        }
    }
}

/// Resource version and error only: objects may hold secrets.
impl<K: Object> fmt::Debug for Entry<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("resource_version", &self.resource_version())
            .field("undecodable", &self.undecodable())
            .finish_non_exhaustive()
    }
}
