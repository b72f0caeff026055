use std::sync::Arc;

use serde::{Deserialize, Deserializer};

/// Decodes an object directly into an `Arc`, so that it is never copied.
pub(crate) struct DecodedArc<K>(pub(crate) Arc<K>);

impl<'de, K: Deserialize<'de>> Deserialize<'de> for DecodedArc<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Arc::new(K::deserialize(deserializer)?)))
    }
}
