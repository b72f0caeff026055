use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{
    cache::{Event, InformerScope, InformerStatus, SharedInformer, Subscription},
    controller::{Environment, Wired, hub::Hub, readers::Readers},
    resource::Resource,
};

/// One line of `wire`, whatever its kind.
pub(in crate::controller) trait Wiring<K>: Send {
    fn wired(&self) -> Wired;
    /// Makes the kind readable.
    fn read(&self, environment: &Environment, readers: &Readers);
    /// Makes the kind readable without a server, and gives what fills its cache; `None` for what is no kind.
    #[cfg(feature = "dev")]
    fn offline(&self, readers: &Readers) -> Option<crate::controller::offline::Refill> {
        let _ = readers;
        None
    }
    /// Begins to listen.
    fn connect(self: Box<Self>, environment: &Environment, hub: &Arc<Hub<K>>) -> Connection;
}

/// A wired kind from its first listener to its last.
pub(in crate::controller) struct Connection {
    pub(in crate::controller) status: Arc<dyn Fn() -> InformerStatus + Send + Sync>,
    /// Whether the first list has reached the cache and the listener; `false` if it never will.
    pub(in crate::controller) synced: BoxFuture<'static, bool>,
    pub(in crate::controller) subscription: Option<Subscription>,
}

pub(in crate::controller) fn informer<C: Resource>(environment: &Environment) -> SharedInformer<C> {
    let namespaces = environment.namespace.iter();
    let scope = InformerScope::all().namespaces(namespaces);
    environment.informers.informer(scope)
}

/// Listens in the controller's name.
pub(super) fn listen<C: Resource, K>(
    environment: &Environment,
    hub: &Hub<K>,
    listener: impl FnMut(&Event<C>) + Send + 'static,
) -> Connection {
    let informer = informer::<C>(environment);
    hub.writes.follow(&informer);
    let subscription = informer.add_named_listener(hub.name.as_str(), listener);
    let (ready, informer) = (subscription.clone(), informer.clone());
    Connection {
        synced: Box::pin(async move { ready.synced().await }),
        status: Arc::new(move || informer.status()),
        subscription: Some(subscription),
    }
}
