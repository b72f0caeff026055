use std::{any::TypeId, future::ready, sync::Arc};

use futures_util::future::BoxFuture;
use serde::{Serialize, de::DeserializeOwned};

use super::enqueuer::Enqueuer;
#[cfg(feature = "dev")]
use super::fixed_cache::FixedCache;
use crate::{
    cache::{InformerGuard, InformerStatus, SharedInformer, Subscription},
    controller::{
        caches::WiredCaches, environment::Environment, read_your_writes::Followed,
        state::ControllerState, wired::Wired,
    },
    election::LeadershipGate,
    resource::{ApiResource, Object},
};

/// A source of a controller before it starts.
pub(crate) trait Wiring<K>: Send {
    /// The kind that it watches; `None` for a stream.
    fn wired(&self) -> Option<Wired>;
    /// The type that the objects of its kind are read as.
    fn read_as(&self) -> Option<TypeId> {
        None
    }
    /// Makes the kind readable without an informer; `None` for a stream.
    #[cfg(feature = "dev")]
    fn fixed_cache(&self, caches: &WiredCaches) -> Option<FixedCache> {
        let _ = caches;
        None
    }
    /// Starts the source.
    fn connect(self: Box<Self>, environment: &Environment, enqueuer: &Enqueuer<K>) -> Connection;
}

/// A source from its first event to its last.
pub(crate) struct Connection {
    /// The status of its informer; `None` for a stream.
    pub(crate) status: Option<Arc<dyn Fn() -> InformerStatus + Send + Sync>>,
    /// Waits until the first list has reached the cache and the listener. Returns `false` if it never will.
    pub(crate) synced: BoxFuture<'static, bool>,
    /// Reads a stream of the user. It has to run while the controller works.
    pub(crate) stream: Option<BoxFuture<'static, ()>>,
    cached: Option<InformerUse>,
    is_readable: bool,
}

/// What a source holds of its informer.
struct InformerUse {
    subscription: Option<Subscription>,
    /// Makes the kind readable, or unreadable again.
    set_readable: Box<SetReadable>,
    followed: Followed,
    /// Releases the informer.
    release: BoxFuture<'static, ()>,
}

type SetReadable = dyn Fn(&WiredCaches, bool) + Send + Sync;

impl Connection {
    /// A source that reads a stream and has nothing to sync.
    pub(super) fn streaming(stream: BoxFuture<'static, ()>) -> Self {
        Self {
            status: None,
            synced: Box::pin(ready(true)),
            stream: Some(stream),
            cached: None,
            is_readable: false,
        }
    }

    /// A source that makes a kind readable.
    pub(super) fn reading<C: Object>(
        informer: InformerGuard<C>,
        controller: &ControllerState,
    ) -> Self {
        let followed = controller.writes.follow(&informer);
        let (synced, status) = (informer.clone(), informer.clone());
        let (resource, lister) = (informer.resource().clone(), informer.lister());
        let cached = InformerUse {
            subscription: None,
            set_readable: Box::new(move |caches, readable| match readable {
                true => caches.insert(&resource, lister.clone()),
                false => caches.remove::<C>(&resource),
            }),
            followed,
            release: Box::pin(informer.release()),
        };
        Self {
            synced: Box::pin(async move { synced.synced().await }),
            status: Some(Arc::new(move || status.status())),
            stream: None,
            cached: Some(cached),
            is_readable: false,
        }
    }

    /// A source that makes a kind readable and listens to its events.
    pub(super) fn listening<C: Object>(
        informer: InformerGuard<C>,
        subscription: Subscription,
        controller: &ControllerState,
    ) -> Self {
        let mut connection = Self::reading(informer, controller);
        let ready = subscription.clone();
        connection.synced = Box::pin(async move { ready.synced().await });
        if let Some(cached) = &mut connection.cached {
            cached.subscription = Some(subscription);
        }
        connection
    }

    /// Waits until its cache, if it has one, holds everything that the API server had when this process became the leader.
    pub(super) fn catch_up<'a>(
        &self,
        environment: &'a Environment,
        controller: &ControllerState,
    ) -> BoxFuture<'a, ()> {
        let since = environment
            .leadership_gate
            .as_ref()
            .and_then(LeadershipGate::opened_at);
        match &self.cached {
            Some(InformerUse { followed, .. }) => {
                controller
                    .writes
                    .catch_up_one(followed, &environment.client, since)
            }
            None => Box::pin(ready(())),
        }
    }

    /// Makes its kind readable.
    pub(crate) fn make_readable(&mut self, caches: &WiredCaches) {
        if let Some(cached) = &self.cached {
            (cached.set_readable)(caches, true);
            self.is_readable = true;
        }
    }

    /// Ends the source: it adds no more keys and does not make its kind readable any more. The informer ends too, if
    /// nothing else needs it.
    pub(crate) fn end(self, controller: &ControllerState) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(cached) = self.cached else { return };
            if let Some(subscription) = cached.subscription {
                subscription.remove().await;
            }
            if self.is_readable {
                (cached.set_readable)(&controller.caches, false);
            }
            controller.writes.unfollow(cached.followed).await;
            cached.release.await;
        })
    }
}

/// The informer of a kind. It is never released.
pub(crate) fn informer<C>(environment: &Environment, resource: &ApiResource) -> SharedInformer<C>
where
    C: Object + Serialize + DeserializeOwned,
{
    environment
        .informers
        .of(resource.clone(), environment.scope())
}
