use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::{
    Entry, FailureCount, compression::Compression, decoded_forms::DecodedForms,
    encoded_entry::EncodedEntry,
};
use crate::{
    client::{ObjectBytes, Received},
    resource::{ApiResource, Object, Undecodable},
};

/// What the encoded objects of one cache share: how they are decoded, which of them are in memory decoded as well, and which
/// ones turned out not to decode.
pub(in crate::cache) struct EncodedCache<K> {
    pub(super) resource: ApiResource,
    decode: fn(&ObjectBytes, &ApiResource) -> Result<Arc<K>, String>,
    pub(in crate::cache) forms: DecodedForms<K>,
    /// Whether the program reads each object.
    expects_reads: AtomicBool,
    /// `None` to store the objects as they come.
    compression: Option<Compression>,
    /// The objects that turned out to be undecodable since the informer looked last: at most one for each version that the
    /// cache has held since then.
    failed: Mutex<Vec<Arc<Undecodable>>>,
    has_failed: Notify,
    /// Counts them.
    pub(in crate::cache) failures: Arc<FailureCount>,
}

impl<K: Object + DeserializeOwned> EncodedCache<K> {
    /// At most `share` of the bytes of the cache stay decoded; see [`DecodedForms`]. Objects are compressed if `is_compressed`.
    pub(in crate::cache) fn new(
        resource: ApiResource,
        share: Option<f64>,
        is_compressed: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            resource,
            decode: ObjectBytes::decode::<K>,
            forms: DecodedForms::new(share),
            expects_reads: AtomicBool::new(false),
            compression: is_compressed.then(Compression::new),
            failed: Mutex::default(),
            has_failed: Notify::new(),
            failures: Arc::default(),
        })
    }
}

impl<K: Object> EncodedCache<K> {
    /// The object, as the cache stores it.
    pub(in crate::cache) fn entry(self: &Arc<Self>, object: Received<K>) -> Entry<K> {
        match object {
            Received::Decoded(object) => object.into(),
            Received::Bytes(bytes) => {
                let bytes = match &self.compression {
                    // A small object stays decoded once it was read.
                    Some(compression) if !bytes.is_small() => {
                        compression.apply(bytes, self.forms.stored())
                    }
                    _ => bytes,
                };
                self.forms.note_stored(bytes.len());
                Entry::packed(EncodedEntry::new(bytes, self.clone()))
            }
        }
    }

    /// Notes that the program reads each object, so that small ones are decoded when they arrive.
    pub(in crate::cache) fn expect_reads(&self) {
        self.expects_reads.store(true, Ordering::Relaxed);
    }

    /// Whether the program reads each object.
    pub(in crate::cache) fn expects_reads(&self) -> bool {
        self.expects_reads.load(Ordering::Relaxed)
    }

    /// Decodes an object that the cache will not store.
    ///
    /// # Errors
    /// The readable parts of the object.
    pub(in crate::cache) fn decode_now(
        &self,
        bytes: &ObjectBytes,
    ) -> Result<Arc<K>, Box<Undecodable>> {
        let decoded = self.decode(bytes);
        decoded.map_err(|reason| Box::new(bytes.undecodable(&self.resource, reason)))
    }

    /// # Errors
    /// The reason, which names a path and never a value.
    pub(super) fn decode(&self, bytes: &ObjectBytes) -> Result<Arc<K>, String> {
        let object = (self.decode)(bytes, &self.resource)?;
        // The cache has read these itself, in another way.
        let is_same = object.key() == *bytes.key()
            && object.uid() == bytes.uid()
            && object.resource_version() == bytes.resource_version();
        match is_same {
            true => Ok(object),
            false => Err("metadata: the document has two of them".to_owned()),
        }
    }

    /// Waits until the informer has something to do: objects turned out not to decode, or decoded forms may sleep. Losing the
    /// future loses nothing.
    pub(in crate::cache) async fn has_work(&self) {
        tokio::select! {
            () = self.has_failed.notified() => {}
            () = self.forms.step_is_due() => {}
        }
    }

    /// The objects that turned out to be undecodable since the last call, each version once. When they are marked in the
    /// state that readers see, the caller calls [`note_marked`](Self::note_marked).
    pub(in crate::cache) fn take_failed(&self) -> Vec<Arc<Undecodable>> {
        std::mem::take(&mut self.failed.lock())
    }

    /// Notes that so many of them are marked, or are not in the cache any more.
    pub(in crate::cache) fn note_marked(&self, objects: usize) {
        self.failures.note_marked(objects);
    }

    pub(super) fn note_failure(&self, object: &Arc<Undecodable>) {
        self.failed.lock().push(object.clone());
        self.has_failed.notify_one();
    }
}
