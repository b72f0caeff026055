use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, OnceLock, Weak},
};

use super::{
    Packed,
    decoded_slot::DecodedSlot,
    encoded_cache::EncodedCache,
    shared_object::{HasBytes, SharedBytes},
};
use crate::{
    client::ObjectBytes,
    resource::{Object, ObjectKey, ObjectMeta, OwnerReference, Selector, Undecodable},
};

/// An object that a cache stores as the server sent it. It is decoded when somebody reads it, and at most once while its
/// decoded form is in use. A small object stays decoded.
pub(super) struct EncodedEntry<K> {
    bytes: ObjectBytes,
    decoded: DecodedSlot<K>,
    /// Why the object does not decode, once somebody has tried.
    failure: OnceLock<Arc<Undecodable>>,
    own: Weak<Self>,
    cache: Arc<EncodedCache<K>>,
}

impl<K> EncodedEntry<K> {
    /// Whether its decoded form needs no room in [`DecodedForms`](super::decoded_forms::DecodedForms).
    fn stays_decoded(&self) -> bool {
        self.bytes.is_small()
    }
}

impl<K: Object> EncodedEntry<K> {
    pub(super) fn new(bytes: ObjectBytes, cache: Arc<EncodedCache<K>>) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            bytes,
            decoded: DecodedSlot::new(),
            failure: OnceLock::new(),
            own: own.clone(),
            cache,
        })
    }

    pub(super) fn slot(&self) -> &DecodedSlot<K> {
        &self.decoded
    }

    pub(super) fn own(&self) -> Weak<Self> {
        self.own.clone()
    }

    /// Bytes of the encoded form, before it was compressed.
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Only the first failure counts.
    fn fail(&self, reason: String) -> Arc<Undecodable> {
        let mut is_first = false;
        let failure = self.failure.get_or_init(|| {
            is_first = true;
            // Before a reader gets the failure: its call must not prune.
            self.cache.failures.note_found();
            Arc::new(self.bytes.undecodable(&self.cache.resource, reason))
        });
        if is_first {
            self.cache.note_failure(failure);
        }
        failure.clone()
    }
}

impl<K: Object> Packed<K> for EncodedEntry<K> {
    fn uid(&self) -> Option<&str> {
        self.bytes.uid()
    }

    fn resource_version(&self) -> Option<&str> {
        self.bytes.resource_version()
    }

    fn object(&self) -> Result<Arc<K>, Arc<Undecodable>> {
        if let Some(object) = self.decoded.get() {
            return Ok(object);
        }
        if let Some(failure) = self.failure.get() {
            return Err(failure.clone());
        }
        match self.cache.decode(&self.bytes) {
            Ok(object) => {
                let forms = &self.cache.forms;
                let (object, times) = self.decoded.put(object, forms.period());
                if let Some(times) = times
                    && !self.stays_decoded()
                {
                    forms.note_decoded(self, times);
                }
                Ok(object)
            }
            Err(reason) => Err(self.fail(reason)),
        }
    }

    fn key(&self) -> Option<Cow<'_, ObjectKey>> {
        Some(Cow::Borrowed(self.bytes.key()))
    }

    fn metadata(&self) -> Option<ObjectMeta> {
        self.bytes.metadata()
    }

    fn labels(&self) -> Option<BTreeMap<String, String>> {
        Some(self.bytes.labels())
    }

    fn owner_references(&self) -> Option<Vec<OwnerReference>> {
        Some(self.bytes.owner_references())
    }

    fn is_deleting(&self) -> Option<bool> {
        Some(self.bytes.is_deleting())
    }

    fn undecodable(&self) -> Option<&Arc<Undecodable>> {
        self.failure.get()
    }

    fn decoded(&self) -> Option<Arc<K>> {
        self.decoded.get()
    }

    fn size(&self) -> Option<usize> {
        Some(self.bytes.size())
    }

    fn shared_bytes(&self) -> Option<SharedBytes> {
        Some(SharedBytes::new(self.own.upgrade()?))
    }

    fn matches(&self, selector: &Selector) -> bool {
        selector.matches(&self.bytes.labels())
    }
}

impl<K: Object> HasBytes for EncodedEntry<K> {
    fn bytes(&self) -> &ObjectBytes {
        &self.bytes
    }
}

impl<K> Drop for EncodedEntry<K> {
    fn drop(&mut self) {
        let takes_room = !self.stays_decoded() && self.decoded.is_filled();
        let forms = &self.cache.forms;
        forms.note_gone(self.bytes.len(), takes_room);
    }
}
