use std::{future::Future, sync::Arc};

use super::{Context, Controller, Result};
use crate::resource::{ObjectKey, Resource};

/// Makes the world as objects of one kind ask for.
///
/// Level-triggered: it is told that something changed, never what. For one key it is called once at
/// a time, after every change again, and with the newest object the cache has when the call starts.
pub trait Reconciler: Send + Sync + Sized + 'static {
    /// The kind whose objects are reconciled.
    type Resource: Resource;

    /// Says which other kinds belong to it, and how the controller works.
    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
    }

    /// Brings the world closer to what `object` asks for.
    ///
    /// An error or a panic leads to another call, with backoff.
    fn reconcile(
        &self,
        object: Arc<Self::Resource>,
        cx: &Context<Self::Resource>,
    ) -> impl Future<Output = Result> + Send;

    /// Called once for a key that had been reconciled since the program started and whose object
    /// is gone; again, with backoff, while it fails. For forgetting what is kept in memory: a
    /// deletion that happens while the program does not run is not told.
    fn deleted(
        &self,
        key: &ObjectKey,
        cx: &Context<Self::Resource>,
    ) -> impl Future<Output = Result<()>> + Send {
        let _ = (key, cx);
        async { Ok(()) }
    }
}
