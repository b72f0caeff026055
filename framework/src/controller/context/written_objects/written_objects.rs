use std::{
    any::{Any, TypeId},
    fmt,
    sync::Arc,
};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::{
    write_log::{LastWrite, WriteLog},
    written_state::WrittenState,
};
use crate::{
    cache::Lister,
    controller::{context::call_notes::LazyShared, state::ObjectId},
    resource::{ApiResource, Object},
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
    /// Notes the answer to a write. `is_awaited` tells of an object whether a cache may not have the last write of it yet.
    pub(in crate::controller::context) fn note(
        &self,
        write: LastWrite,
        is_awaited: impl Fn(&LastWrite) -> bool,
    ) {
        let log = self.0.get_or_make().log.clone();
        log.lock().note(write, is_awaited);
    }

    /// The same lister, whose reads show what the call has written so far.
    pub(in crate::controller::context) fn shown_by<P>(
        &self,
        lister: Lister<P>,
        resource: &ApiResource,
    ) -> Lister<P>
    where
        P: Object + DeserializeOwned,
    {
        match self.0.is_made() {
            true => self.shown_from_now_by(lister, resource),
            false => lister,
        }
    }

    /// The same lister, whose reads show what the call has written at the time of the read.
    pub(in crate::controller::context) fn shown_from_now_by<P>(
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

    /// Whether a read of the kind could not show the last write of `object`.
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
