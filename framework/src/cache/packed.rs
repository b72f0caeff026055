use std::sync::Arc;

use crate::resource::{Object, Selector, Undecodable};

/// An object at rest, in the form that a [`Packing`](super::Packing) gave it.
pub trait Packed<K: Object>: Send + Sync {
    /// `metadata.uid`, without decoding the object.
    fn uid(&self) -> Option<&str>;

    /// `metadata.resourceVersion`, without decoding the object.
    fn resource_version(&self) -> Option<&str>;

    /// The object.
    ///
    /// # Errors
    /// What was packed cannot be decoded any more.
    fn object(&self) -> Result<Arc<K>, Arc<Undecodable>>;

    /// Bytes that the object takes at rest, for the metrics. Provided: unknown, so that it counts as JSON.
    fn size(&self) -> Option<usize> {
        None
    }

    /// Whether the object's labels are those that `selector` means. Provided: decodes it.
    fn matches(&self, selector: &Selector) -> bool {
        let object = self.object();
        object.is_ok_and(|object| selector.matches(object.labels().unwrap_or(&super::NO_LABELS)))
    }
}
