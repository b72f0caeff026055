use std::{future::ready, sync::Arc};

use futures_util::future::BoxFuture;

use super::Inlet;
use crate::{
    cache::{Event, InformerScope, InformerStatus, SharedInformer, Subscription},
    controller::{Environment, Wired, hub::Hub, readers::Readers},
    resource::Resource,
};

/// One source of a controller, whatever its kind.
pub(in crate::controller) trait Wiring<K>: Send {
    /// The kind it watches, if it does.
    fn wired(&self) -> Option<Wired>;
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
    pub(in crate::controller) subscription: Option<Subscription>,
    /// Makes its kind readable, or takes that back.
    pub(in crate::controller) readable: Option<Box<Readable>>,
    /// What has to run while the controller works.
    pub(in crate::controller) pump: Option<BoxFuture<'static, ()>>,
}

type Readable = dyn Fn(&Readers, bool) + Send + Sync;

impl Connection {
    /// A source that has nothing to sync and has to be run.
    pub(super) fn pumped(pump: BoxFuture<'static, ()>) -> Self {
        Self {
            status: None,
            synced: Box::pin(ready(true)),
            subscription: None,
            readable: None,
            pump: Some(pump),
        }
    }

    /// A kind that is read.
    pub(super) fn reading<C: Resource, K>(environment: &Environment, hub: &Hub<K>) -> Self {
        let informer = informer::<C>(environment);
        hub.writes.follow(&informer);
        let (waited, asked) = (informer.clone(), informer.clone());
        Self {
            synced: Box::pin(async move { waited.synced().await }),
            status: Some(Arc::new(move || asked.status())),
            subscription: None,
            readable: Some(Box::new(move |readers, readable| match readable {
                true => readers.insert(informer.lister()),
                false => readers.remove::<C>(),
            })),
            pump: None,
        }
    }

    /// A kind that is read and listened to, in the controller's name.
    pub(super) fn listening<C: Resource, K>(
        environment: &Environment,
        hub: &Hub<K>,
        listener: impl FnMut(&Event<C>) + Send + 'static,
    ) -> Self {
        let subscription =
            informer::<C>(environment).add_named_listener(hub.name.as_str(), listener);
        let ready = subscription.clone();
        Self {
            synced: Box::pin(async move { ready.synced().await }),
            subscription: Some(subscription),
            ..Self::reading::<C, K>(environment, hub)
        }
    }
}

pub(in crate::controller) fn informer<C: Resource>(environment: &Environment) -> SharedInformer<C> {
    let namespaces = environment.namespaces.iter();
    let scope = InformerScope::all().namespaces(namespaces);
    environment.informers.informer(scope)
}
