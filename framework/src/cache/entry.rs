use std::sync::Arc;

use crate::resource::{Object, Undecodable};

/// What a [`Store`](super::Store) holds for one key.
pub enum Entry<K> {
    /// The object.
    Object(Arc<K>),
    /// The server has an object that does not fit `K`: it keeps its place (design promise R8).
    Undecodable {
        /// What could be read of the present version.
        object: Arc<Undecodable>,
        /// The last version that did decode, if there was one.
        last: Option<Arc<K>>,
    },
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Object(object) => Self::Object(object.clone()),
            Self::Undecodable { object, last } => Self::Undecodable {
                object: object.clone(),
                last: last.clone(),
            },
        }
    }
}

impl<K: Object> Entry<K> {
    /// The object, or why it cannot be had.
    ///
    /// # Errors
    /// The present version does not decode.
    pub fn decoded(&self) -> Result<&Arc<K>, &Arc<Undecodable>> {
        match self {
            Self::Object(object) => Ok(object),
            Self::Undecodable { object, .. } => Err(object),
        }
    }

    /// UID of the present version.
    pub fn uid(&self) -> Option<&str> {
        match self {
            Self::Object(object) => object.uid(),
            Self::Undecodable { object, .. } => object.uid.as_deref(),
        }
    }

    /// Resource version of the present version.
    pub fn resource_version(&self) -> Option<&str> {
        match self {
            Self::Object(object) => object.resource_version(),
            Self::Undecodable { object, .. } => object.resource_version.as_deref(),
        }
    }

    /// UIDs of the owners.
    pub(super) fn owner_uids(&self) -> impl Iterator<Item = &str> {
        let owners = match self {
            Self::Object(object) => object.metadata().owner_references.as_deref(),
            Self::Undecodable { object, .. } => Some(&*object.owner_references),
        };
        owners
            .unwrap_or_default()
            .iter()
            .map(|owner| owner.uid.as_str())
    }
}
