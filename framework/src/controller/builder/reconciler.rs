use std::{future::Future, sync::Arc};

use super::controller::Controller;
use crate::{
    controller::{context::Context, error::Result, reconcilable::Reconcilable},
    resource::ObjectKey,
};

/// The user's code: makes the cluster match what the objects of one kind ask for.
///
/// A reconcile is level-triggered: it learns that something changed, but never what. For one key it is called once at a
/// time, again after every change, and with the newest object that the cache has when the call starts.
pub trait Reconciler: Send + Sync + Sized + 'static {
    /// The kind whose objects are reconciled. A kind that is known only at run time is a
    /// [`DynamicObject`](crate::resource::DynamicObject); see [`Controller::dynamic`].
    ///
    /// With [`PartialObject<K>`](crate::resource::PartialObject), the controller reads only the metadata of the objects of kind
    /// `K`. It then has everything but their status: `update_status` does not compile, and the framework sets no condition `Ready`.
    type Resource: Reconcilable;

    /// Declares which other kinds belong to the reconciled kind, and how the controller works.
    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
    }

    /// Makes the cluster match what `object` asks for.
    ///
    /// After an error or a panic the key is retried, with backoff.
    fn reconcile(
        &self,
        object: Arc<Self::Resource>,
        cx: &Context<Self::Resource>,
    ) -> impl Future<Output = Result> + Send;

    /// Called once for a key that was reconciled since the program started and whose object is gone. While it fails it is
    /// called again, with backoff.
    ///
    /// Use it to drop what the program keeps in memory for the object. It is not called for an object that is deleted while
    /// the program does not run; use [`Cleanup`](super::Cleanup) for work that must happen.
    fn deleted(
        &self,
        key: &ObjectKey,
        cx: &Context<Self::Resource>,
    ) -> impl Future<Output = Result<()>> + Send {
        let _ = (key, cx);
        async { Ok(()) }
    }
}
