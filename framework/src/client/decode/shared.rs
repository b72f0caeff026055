use std::sync::Arc;

use serde::{Deserialize, Deserializer};

/// An object that is shared from the moment it is decoded: nothing of it is copied to get there.
pub(crate) struct Shared<K>(pub(crate) Arc<K>);

impl<'de, K: Deserialize<'de>> Deserialize<'de> for Shared<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Arc::new(K::deserialize(deserializer)?)))
    }
}
