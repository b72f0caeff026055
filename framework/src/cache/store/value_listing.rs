use std::{fmt, sync::Arc};

use crate::resource::Undecodable;

/// The values of an index, together with the objects that do not decode.
pub struct ValueListing<V> {
    /// The values that at least one object has, each once, in no particular order.
    pub items: Vec<V>,
    /// The objects of the server that do not decode. They may have other values than their last versions that decoded.
    pub undecodable: Vec<Arc<Undecodable>>,
}

/// Shows counts only: values may be secrets.
impl<V> fmt::Debug for ValueListing<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueListing")
            .field("items", &self.items.len())
            .field("undecodable", &self.undecodable)
            .finish()
    }
}
