use std::{any::Any, sync::Arc};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    cache::{InformerStatus, Readiness, SharedInformer, source::WholeObjects},
    resource::{Object, Undecodable},
};

/// A [`SharedInformer`] of any kind.
pub(super) trait AnyInformer: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn status(&self) -> InformerStatus;
    fn readiness(&self) -> Readiness;
    fn undecodable(&self) -> Vec<Arc<Undecodable>>;
    fn run(&self, cancel: CancellationToken) -> BoxFuture<'static, ()>;
    fn stop(&self);

    /// The informer as one that an informer of metadata may read from. `None` if it may not.
    fn whole(self: Arc<Self>) -> Option<Arc<dyn WholeObjects>>;
}

impl<K: Object> AnyInformer for SharedInformer<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn status(&self) -> InformerStatus {
        self.status()
    }

    fn readiness(&self) -> Readiness {
        self.readiness()
    }

    fn undecodable(&self) -> Vec<Arc<Undecodable>> {
        self.undecodable()
    }

    fn run(&self, cancel: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(self.run(cancel))
    }

    fn stop(&self) {
        self.stop();
    }

    fn whole(self: Arc<Self>) -> Option<Arc<dyn WholeObjects>> {
        match self.can_feed() {
            true => Some(self),
            false => None,
        }
    }
}
