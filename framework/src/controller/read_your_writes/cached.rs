use std::{any::Any, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    sync::{Notify, SemaphorePermit},
    time::Instant,
};

use crate::{
    cache::{
        BatchInfo, CacheObserver, Event, InformerScope, Lister, SharedInformer, Snapshot,
        Subscription,
    },
    resource::{ApiResource, Object, ObjectKey},
};

use super::{
    demand::{CachedObject, Demand, Met, View},
    follower::Follower,
};

/// A [`SharedInformer`] without its Rust type.
pub(super) trait Cached: Send + Sync {
    fn resource(&self) -> &ApiResource;
    fn scope(&self) -> &InformerScope;
    /// Calls `look` with the state of `object` in the cache.
    fn look(&self, object: &ObjectKey, look: &mut dyn FnMut(View<'_>));
    /// Calls `look` with each object in the cache.
    fn each(&self, look: &mut dyn FnMut(&ObjectKey, CachedObject<'_>));
    /// The version of the collection in the cache.
    fn version(&self) -> Option<String>;
    fn has_synced(&self) -> bool;
    /// As [`SharedInformer::is_consistent_since`].
    fn is_consistent_since(&self, moment: Option<Instant>) -> bool;
    /// As [`SharedInformer::became_consistent`].
    fn became_consistent(&self, namespace: Option<&str>, moment: Instant);
    /// As [`SharedInformer::catching_up`].
    fn catching_up(&self) -> BoxFuture<'_, Option<SemaphorePermit<'_>>>;
    fn relist(&self);
    fn follow(&self, follower: Follower) -> Subscription;
    /// Notifies `changed` whenever the cache has changed.
    fn notify(&self, changed: Arc<Notify>) -> Subscription;
    /// Whether both are the same informer.
    fn is(&self, other: &dyn Cached) -> bool;
    fn as_any(&self) -> &dyn Any;
}

/// An informer and its lister.
pub(super) struct Informer<C> {
    pub(super) informer: SharedInformer<C>,
    pub(super) lister: Lister<C>,
}

impl<C: Object> Cached for Informer<C> {
    fn resource(&self) -> &ApiResource {
        self.informer.resource()
    }

    fn scope(&self) -> &InformerScope {
        self.informer.scope()
    }

    fn look(&self, object: &ObjectKey, look: &mut dyn FnMut(View<'_>)) {
        look(view(&self.lister.snapshot(), object));
    }

    fn each(&self, look: &mut dyn FnMut(&ObjectKey, CachedObject<'_>)) {
        let snapshot = self.lister.snapshot();
        for (key, entry) in snapshot.iter() {
            let held = CachedObject {
                uid: entry.uid(),
                version: entry.resource_version(),
            };
            look(key, held);
        }
    }

    fn version(&self) -> Option<String> {
        let snapshot = self.lister.snapshot();
        snapshot.resource_version().map(str::to_owned)
    }

    fn has_synced(&self) -> bool {
        self.informer.has_synced()
    }

    fn is_consistent_since(&self, moment: Option<Instant>) -> bool {
        self.informer.is_consistent_since(moment)
    }

    fn became_consistent(&self, namespace: Option<&str>, moment: Instant) {
        self.informer.became_consistent(namespace, moment);
    }

    fn catching_up(&self) -> BoxFuture<'_, Option<SemaphorePermit<'_>>> {
        self.informer.catching_up().boxed()
    }

    fn relist(&self) {
        self.informer.relist();
    }

    fn follow(&self, follower: Follower) -> Subscription {
        self.informer.observe("read your writes", follower)
    }

    fn notify(&self, changed: Arc<Notify>) -> Subscription {
        self.informer.observe("catch up", NotifyOnChange(changed))
    }

    fn is(&self, other: &dyn Cached) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| other.informer.is(&self.informer))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The state of one object in a cache.
fn view<'a, C: Object>(state: &'a Snapshot<C>, object: &ObjectKey) -> View<'a> {
    let held = state.entry(object).map(|entry| CachedObject {
        uid: entry.uid(),
        version: entry.resource_version(),
    });
    let collection = state.resource_version();
    View { held, collection }
}

/// Whether the state of a cache is as new as `version` of the object, or newer.
pub(in crate::controller) fn has_reached<C: Object>(
    state: &Snapshot<C>,
    object: &ObjectKey,
    uid: &str,
    version: &str,
) -> bool {
    let mut demand = Demand::at(Some(uid), version);
    demand.is_met(view(state, object)) != Met::Not
}

struct NotifyOnChange(Arc<Notify>);

impl<C: Object> CacheObserver<C> for NotifyOnChange {
    fn on_event(&mut self, _: &Event<C>) {}

    fn on_batch(&mut self, _: &Snapshot<C>, _: BatchInfo) {
        self.0.notify_one();
    }
}
