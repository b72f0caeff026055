use crate::resource::{Object, Undecodable};

/// A version of an object on its way into a store. This is the only moment at which the object is certain to be
/// decoded.
pub(in crate::cache) enum IncomingObject<'a, K> {
    Object(&'a K),
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
            Self::Undecodable { object, .. } => Some(&*object.owner_references),
        };
        let owners = owners.unwrap_or_default().iter();
        owners.map(|owner| owner.uid.as_str())
    }
}
