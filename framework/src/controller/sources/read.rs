use std::{marker::PhantomData, sync::Arc};

use super::wiring::{Connection, Wiring, informer};
use crate::{
    controller::{Environment, Role, Wired, hub::Hub, readers::Readers},
    resource::{ApiResource, Resource},
};

/// A kind that is only read.
pub(in crate::controller) struct Read<C>(pub(in crate::controller) PhantomData<fn() -> C>);

impl<K: Resource, C: Resource> Wiring<K> for Read<C> {
    fn wired(&self) -> Wired {
        Wired {
            resource: ApiResource::of::<C>(),
            role: Role::Read,
        }
    }

    fn read(&self, environment: &Environment, readers: &Readers) {
        readers.insert(informer::<C>(environment).lister());
    }

    #[cfg(feature = "dev")]
    fn offline(&self, readers: &Readers) -> Option<crate::controller::offline::Refill> {
        Some(crate::controller::offline::refill::<C>(readers))
    }

    fn connect(self: Box<Self>, environment: &Environment, hub: &Arc<Hub<K>>) -> Connection {
        let informer = informer::<C>(environment);
        hub.writes.follow(&informer);
        let waited = informer.clone();
        Connection {
            synced: Box::pin(async move { waited.synced().await }),
            status: Arc::new(move || informer.status()),
            subscription: None,
        }
    }
}
