use crate::resource::{Object, Undecodable};

/// A version of an object on its way into a store: the only moment at which it surely is decoded.
pub(super) enum Incoming<'a, K> {
    Object(&'a K),
    Undecodable {
        object: &'a Undecodable,
        last: Option<&'a K>,
    },
}

impl<K: Object> Incoming<'_, K> {
    /// UIDs of the owners.
    pub(super) fn owner_uids(&self) -> impl Iterator<Item = &str> + Clone {
        let owners = match self {
            Self::Object(object) => object.metadata().owner_references.as_deref(),
            Self::Undecodable { object, .. } => Some(&*object.owner_references),
        };
        let owners = owners.unwrap_or_default().iter();
        owners.map(|owner| owner.uid.as_str())
    }
}
