use std::{fmt, sync::Arc};

use crate::{
    client::ObjectBytes,
    resource::{DynamicObject, Object, ObjectMeta, PartialObject},
};

/// An object on its way from a cache of whole objects to a cache of their metadata.
#[derive(Clone)]
pub(in crate::cache) enum SharedObject {
    /// As the API server sent it.
    Encoded(SharedBytes),
    /// Decoded.
    Decoded(Arc<dyn HasMetadata>),
}

/// An object that a cache stores as the API server sent it.
#[derive(Clone)]
pub struct SharedBytes(Arc<dyn HasBytes>);

pub(super) trait HasBytes: Send + Sync {
    fn bytes(&self) -> &ObjectBytes;
}

/// An [`Object`] of any type.
pub(in crate::cache) trait HasMetadata: Send + Sync {
    fn metadata(&self) -> &ObjectMeta;
}

impl<K: Object> HasMetadata for K {
    fn metadata(&self) -> &ObjectMeta {
        Object::metadata(self)
    }
}

impl SharedBytes {
    pub(super) fn new(object: Arc<dyn HasBytes>) -> Self {
        Self(object)
    }

    pub(in crate::cache) fn get(&self) -> &ObjectBytes {
        self.0.bytes()
    }
}

impl SharedObject {
    pub(in crate::cache) fn resource_version(&self) -> Option<&str> {
        match self {
            Self::Encoded(object) => object.get().resource_version(),
            Self::Decoded(object) => object.metadata().resource_version.as_deref(),
        }
    }

    /// The same without the rest of a decoded object.
    pub(in crate::cache) fn metadata_alone(self) -> Self {
        match self {
            Self::Encoded(_) => self,
            Self::Decoded(object) => {
                let metadata = object.metadata().clone();
                Self::Decoded(Arc::new(PartialObject::<DynamicObject>::new(metadata)))
            }
        }
    }

    /// Bytes of an object that is not decoded.
    pub(in crate::cache) fn size(&self) -> usize {
        match self {
            Self::Encoded(object) => object.get().size(),
            Self::Decoded(_) => 0,
        }
    }
}

/// Shows the key only: objects may hold secrets.
impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
