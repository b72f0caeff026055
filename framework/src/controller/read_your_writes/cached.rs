use futures_util::future::BoxFuture;

use crate::{
    cache::{Field, InformerScope, Lister, SharedInformer},
    client::Client,
    resource::{ApiResource, Object, ObjectKey, ObjectMeta},
};

use super::{
    catch_up::catch_up,
    demand::{Held, View},
};

/// A [`SharedInformer`] of any kind, as far as own writes are concerned.
pub(super) trait Cached: Send + Sync {
    fn resource(&self) -> &ApiResource;
    fn scope(&self) -> &InformerScope;
    /// Calls `look` with what the cache has of `object`.
    fn look(&self, object: &ObjectKey, look: &mut dyn FnMut(View<'_>));
    fn relist(&self);
    /// See [`catch_up`].
    fn catch_up(&self, client: Client) -> BoxFuture<'static, ()>;
    fn as_any(&self) -> &dyn std::any::Any;
}

/// An informer and what reads it.
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
        let snapshot = self.lister.snapshot();
        let held = snapshot.entry(object).map(|entry| Held {
            uid: entry.uid(),
            version: entry.resource_version(),
        });
        let collection = snapshot.resource_version();
        look(View { held, collection });
    }

    fn relist(&self) {
        self.informer.relist();
    }

    fn catch_up(&self, client: Client) -> BoxFuture<'static, ()> {
        let informer = self.informer.clone();
        Box::pin(async move { catch_up(&informer, &client).await })
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl dyn Cached {
    /// Whether it may hold an object that is like this.
    pub(super) fn may_hold(
        &self,
        metadata: &ObjectMeta,
        field: impl Fn(&str) -> Option<Field>,
    ) -> bool {
        self.scope().may_hold(metadata, field)
    }
}
