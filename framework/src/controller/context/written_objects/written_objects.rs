use std::{
    any::{Any, TypeId},
    fmt,
    sync::Arc,
};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::{
    write_log::{Answer, ObjectWrites, WriteLog},
    written_state::WrittenState,
};
use crate::{
    cache::Lister,
    controller::{context::call_notes::LazyShared, state::ObjectId},
    resource::{ApiResource, Object, ObjectKey},
};

/// What one call wrote, as the server answered, so that the reads of the call show it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(in crate::controller::context) struct WrittenObjects(LazyShared<Shared>);

#[derive(Default)]
struct Shared {
    log: Arc<Mutex<WriteLog>>,
    /// One per kind and Rust type that the call read.
    states: Vec<(ApiResource, TypeId, Box<dyn Any + Send>)>,
}

impl WrittenObjects {
    /// Whether nothing was written that a cache may hold, and no read asked for what is written later.
    pub(in crate::controller::context) fn is_empty(&self) -> bool {
        !self.0.is_made()
    }

    /// Notes the answer to a write of `key`. `is_awaited` tells of an object whether a cache may not have its last write yet.
    pub(in crate::controller::context) fn note(
        &self,
        resource: &ApiResource,
        key: &ObjectKey,
        answer: Answer,
        is_awaited: impl Fn(&ApiResource, &ObjectKey) -> bool,
    ) {
        let log = self.0.get_or_make().log.clone();
        let is_awaited = |writes: &ObjectWrites| is_awaited(&writes.resource, &writes.key);
        log.lock().note(resource, key, answer, is_awaited);
    }

    /// The same lister, whose reads show what the call has written at the time of the read.
    pub(in crate::controller::context) fn shown_by<P>(
        &self,
        lister: Lister<P>,
        resource: &ApiResource,
    ) -> Lister<P>
    where
        P: Object + DeserializeOwned,
    {
        let mut shared = self.0.get_or_make();
        let read_as = TypeId::of::<P>();
        let mut states = shared.states.iter();
        let known = states.find(|(kind, one, _)| kind == resource && *one == read_as);
        let known = known.and_then(|(_, _, state)| state.downcast_ref::<Arc<WrittenState<P>>>());
        let state = known.cloned().unwrap_or_else(|| {
            let scope = lister.scope().cloned();
            let state = WrittenState::new(shared.log.clone(), resource, scope);
            let state = Arc::new(state);
            let kept = (resource.clone(), read_as, Box::new(state.clone()) as _);
            shared.states.push(kept);
            state
        });
        lister.with_overlay(state)
    }

    /// Whether a read of the kind could not show the writes of `object`.
    pub(in crate::controller::context) fn was_missed(&self, object: &ObjectId) -> bool {
        let shared = self.0.get();
        shared.is_some_and(|shared| shared.log.lock().was_missed(object))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.log).finish()
    }
}
