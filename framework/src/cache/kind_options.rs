use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::Arc,
    time::Duration,
};

use super::{Packing, sizes::Measure, transform::Function};
use crate::{
    events::Recorder,
    resource::{ApiResource, Object},
};

/// What the informers of a kind and representation do with its objects.
pub(super) struct KindOptions<K> {
    pub(super) transform: Option<Arc<Function<K>>>,
    pub(super) packing: Option<Arc<dyn Packing<K>>>,
    /// For listeners that do not say it themselves.
    pub(super) resync: Option<Duration>,
    /// Where it is told that an object does not decode.
    pub(super) events: Option<Recorder>,
    /// How large an object is, where that can be told.
    pub(super) measure: Option<Measure<K>>,
}

/// The options of all kinds that have some.
#[derive(Default)]
pub(super) struct AllKindOptions(HashMap<(TypeId, ApiResource), Box<dyn Any + Send + Sync>>);

impl AllKindOptions {
    pub(super) fn of<K: Object>(&self, resource: &ApiResource) -> KindOptions<K> {
        let options = self.0.get(&(TypeId::of::<K>(), resource.clone()));
        let options = options.and_then(|options| options.downcast_ref::<KindOptions<K>>());
        options.cloned().unwrap_or_default()
    }

    pub(super) fn change<K: Object>(
        &mut self,
        resource: ApiResource,
        change: impl FnOnce(&mut KindOptions<K>),
    ) {
        let mut options = self.of(&resource);
        change(&mut options);
        self.0
            .insert((TypeId::of::<K>(), resource), Box::new(options));
    }
}

impl<K> Clone for KindOptions<K> {
    fn clone(&self) -> Self {
        Self {
            transform: self.transform.clone(),
            packing: self.packing.clone(),
            resync: self.resync,
            events: self.events.clone(),
            measure: self.measure,
        }
    }
}

impl<K> Default for KindOptions<K> {
    fn default() -> Self {
        Self {
            transform: None,
            packing: None,
            resync: None,
            events: None,
            measure: None,
        }
    }
}
