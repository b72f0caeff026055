use std::{any::TypeId, future::ready, sync::Arc};

use futures_util::future::BoxFuture;
use serde::{Serialize, de::DeserializeOwned};

use super::Inlet;
use crate::{
    cache::{InformerClaim, InformerStatus, SharedInformer, Subscription},
    controller::{Environment, Wired, hub::Hub, read_your_writes::Followed, readers::Readers},
    election::Turn,
    resource::{ApiResource, Object},
};

/// One source of a controller, whatever its kind.
pub(in crate::controller) trait Wiring<K>: Send {
    /// The kind it watches, if it does.
    fn wired(&self) -> Option<Wired>;
    /// What its objects are read as, if it watches a kind.
    fn read_as(&self) -> Option<TypeId> {
        None
    }
    /// Makes the kind readable without a server, and gives what fills its cache; `None` for what is no kind.
    #[cfg(feature = "dev")]
    fn offline(&self, readers: &Readers) -> Option<crate::controller::offline::Refill> {
        let _ = readers;
        None
    }
    /// Begins to listen.
    fn connect(self: Box<Self>, environment: &Environment, inlet: &Inlet<K>) -> Connection;
}

/// A source from its first event to its last.
pub(in crate::controller) struct Connection {
    /// How its informer is doing, if it has one.
    pub(in crate::controller) status: Option<Arc<dyn Fn() -> InformerStatus + Send + Sync>>,
    /// Whether the first list has reached the cache and the listener; `false` if it never will.
    pub(in crate::controller) synced: BoxFuture<'static, bool>,
    /// What has to run while the controller works.
    pub(in crate::controller) pump: Option<BoxFuture<'static, ()>>,
    cached: Option<Cached>,
    is_readable: bool,
}

/// What is held of an informer for a source.
struct Cached {
    subscription: Option<Subscription>,
    /// Makes its kind readable, or takes that back.
    readable: Box<Readable>,
    followed: Followed,
    /// Gives the informer back.
    release: BoxFuture<'static, ()>,
}

type Readable = dyn Fn(&Readers, bool) + Send + Sync;

impl Connection {
    /// A source that has nothing to sync and has to be run.
    pub(super) fn pumped(pump: BoxFuture<'static, ()>) -> Self {
        Self {
            status: None,
            synced: Box::pin(ready(true)),
            pump: Some(pump),
            cached: None,
            is_readable: false,
        }
    }

    /// A kind that is read.
    pub(super) fn reading<C: Object>(informer: InformerClaim<C>, hub: &Hub) -> Self {
        let followed = hub.writes.follow(&informer);
        let (waited, asked) = (informer.clone(), informer.clone());
        let (resource, lister) = (informer.resource().clone(), informer.lister());
        let cached = Cached {
            subscription: None,
            readable: Box::new(move |readers, readable| match readable {
                true => readers.insert(&resource, lister.clone()),
                false => readers.remove::<C>(&resource),
            }),
            followed,
            release: Box::pin(informer.release()),
        };
        Self {
            synced: Box::pin(async move { waited.synced().await }),
            status: Some(Arc::new(move || asked.status())),
            pump: None,
            cached: Some(cached),
            is_readable: false,
        }
    }

    /// A kind that is read and listened to.
    pub(super) fn listening<C: Object>(
        informer: InformerClaim<C>,
        subscription: Subscription,
        hub: &Hub,
    ) -> Self {
        let mut connection = Self::reading(informer, hub);
        let ready = subscription.clone();
        connection.synced = Box::pin(async move { ready.synced().await });
        if let Some(cached) = &mut connection.cached {
            cached.subscription = Some(subscription);
        }
        connection
    }

    /// Waits until its cache, if it has one, holds all that the API server had when this process's turn came.
    pub(super) fn catch_up<'a>(
        &self,
        environment: &'a Environment,
        hub: &Hub,
    ) -> BoxFuture<'a, ()> {
        let since = environment.turn.as_ref().and_then(Turn::since);
        match &self.cached {
            Some(Cached { followed, .. }) => {
                hub.writes
                    .catch_up_one(followed, &environment.client, since)
            }
            None => Box::pin(ready(())),
        }
    }

    /// Makes its kind readable, if it has one.
    pub(in crate::controller) fn make_readable(&mut self, readers: &Readers) {
        if let Some(cached) = &self.cached {
            (cached.readable)(readers, true);
            self.is_readable = true;
        }
    }

    /// Ends it: nothing comes from it any more, its kind cannot be read by it, and if nobody else needs the informer
    /// that has ended, too.
    pub(in crate::controller) fn end(self, hub: &Hub) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(cached) = self.cached else { return };
            if let Some(subscription) = cached.subscription {
                subscription.remove().await;
            }
            if self.is_readable {
                (cached.readable)(&hub.readers, false);
            }
            hub.writes.unfollow(cached.followed).await;
            cached.release.await;
        })
    }
}

/// The informer of a kind for good.
pub(in crate::controller) fn informer<C>(
    environment: &Environment,
    resource: &ApiResource,
) -> SharedInformer<C>
where
    C: Object + Serialize + DeserializeOwned,
{
    environment
        .informers
        .of(resource.clone(), environment.scope())
}
