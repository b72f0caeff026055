use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::Arc,
    time::Duration,
};

use super::{object_sizes::MeasureFn, transform::TransformFn};
use crate::{
    cache::{InformerScope, Packing, entry::EncodedCache, status::FailureHandler},
    client::Decoder,
    events::Recorder,
    resource::{ApiResource, Object},
};

/// Options of the informers of one kind and representation.
pub(in crate::cache) struct KindOptions<K> {
    pub(in crate::cache) transform: Option<Arc<TransformFn<K>>>,
    pub(in crate::cache) packing: Option<Arc<dyn Packing<K>>>,
    /// What the encoded objects of the cache share, if it stores objects as the API server sent them.
    pub(in crate::cache) encoded: Option<Arc<EncodedCache<K>>>,
    /// The default for listeners that set no period of their own.
    pub(in crate::cache) resync: Option<Duration>,
    /// Records an Event about each object that does not decode.
    pub(in crate::cache) events: Option<Recorder>,
    /// The size of an object, if it can be measured.
    pub(in crate::cache) measure: Option<MeasureFn<K>>,
    /// Where replaced objects are dropped.
    pub(in crate::cache) decoder: Decoder,
    /// Receives each failure of the requests.
    pub(in crate::cache) on_failure: Option<FailureHandler>,
    /// Whether the queue gathers the deltas of each object.
    pub(in crate::cache) delta_fifo: bool,
    /// Changes the scopes that informers of the kind are requested with.
    pub(in crate::cache) tweak: Option<Arc<dyn Fn(InformerScope) -> InformerScope + Send + Sync>>,
}

/// The options of all kinds that have some.
#[derive(Default)]
pub(in crate::cache) struct AllKindOptions {
    by_kind: HashMap<(TypeId, ApiResource), Box<dyn Any + Send + Sync>>,
    /// Which share of the bytes of a cache may stay decoded, if the program has set one.
    pub(in crate::cache) decoded_share: Option<f64>,
    /// Whether the encoded objects of the caches are compressed.
    pub(in crate::cache) is_compressed: bool,
}

impl AllKindOptions {
    pub(in crate::cache) fn of<K: Object>(&self, resource: &ApiResource) -> KindOptions<K> {
        let options = self.by_kind.get(&(TypeId::of::<K>(), resource.clone()));
        let options = options.and_then(|options| options.downcast_ref::<KindOptions<K>>());
        options.cloned().unwrap_or_default()
    }

    pub(in crate::cache) fn change<K: Object>(
        &mut self,
        resource: ApiResource,
        change: impl FnOnce(&mut KindOptions<K>),
    ) {
        let mut options = self.of(&resource);
        change(&mut options);
        self.by_kind
            .insert((TypeId::of::<K>(), resource), Box::new(options));
    }
}

impl<K> Clone for KindOptions<K> {
    fn clone(&self) -> Self {
        Self {
            transform: self.transform.clone(),
            packing: self.packing.clone(),
            encoded: self.encoded.clone(),
            resync: self.resync,
            events: self.events.clone(),
            measure: self.measure,
            decoder: self.decoder.clone(),
            on_failure: self.on_failure.clone(),
            delta_fifo: self.delta_fifo,
            tweak: self.tweak.clone(),
        }
    }
}

impl<K> Default for KindOptions<K> {
    fn default() -> Self {
        Self {
            transform: None,
            packing: None,
            encoded: None,
            resync: None,
            events: None,
            measure: None,
            decoder: Decoder::default(),
            on_failure: None,
            delta_fifo: false,
            tweak: None,
        }
    }
}
