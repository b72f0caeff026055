use std::{future::Future, sync::Arc};

use super::reconciler::Reconciler;
use crate::controller::{action::Action, context::Context, error::Result};

/// A [`Reconciler`] with work to do before an object is deleted.
///
/// A controller asks for it in `wire` with [`finalizer`](super::Controller::finalizer). The finalizer is added to an object
/// before its first reconcile. Once the deletion has begun, `cleanup` is called instead of `reconcile`. When it has
/// succeeded, this finalizer is removed, and no other one.
///
/// After that the garbage collector deletes the children with an owner reference. [Detached](crate::controller::Child::detached)
/// children also outlive `cleanup`: they are deleted after it, and the last finalizer stays until they are gone. If there
/// is nothing else to do, the implementation is empty:
///
/// ```
/// # use std::sync::Arc;
/// # use pilothouse::{controller::{Action, Child, Cleanup, Context, Controller, Owned, Reconciler, Result}, resource::Object};
/// # use pilothouse::k8s::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// struct Notes;
///
/// impl Reconciler for Notes {
///     type Resource = Deployment;
///
///     fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
///         let notes = Owned::<ConfigMap>::new().detached();
///         controller.watch(notes).finalizer("notes.example.com/notes")
///     }
///
///     async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
///         let mut note = ConfigMap::named(object.name());
///         note.metadata.namespace = Some("notes".into());
///         cx.apply_child(Child::new(note).detached()).await?;
///         Ok(Action::wait())
///     }
/// }
///
/// impl Cleanup for Notes {}
/// ```
///
/// `cleanup` is called again after a failure, a restart of the program or a lost answer. So it must succeed if its work is
/// done already.
#[diagnostic::on_unimplemented(
    message = "`{Self}` declares a finalizer and does not say what to do when an object is deleted",
    label = "`Cleanup` is not implemented",
    note = "add `impl Cleanup for {Self} {{ async fn cleanup(&self, object: Arc<Self::Resource>, cx: &Context<Self::Resource>) -> Result {{ .. }} }}`, with an empty body if only detached children have to be deleted"
)]
pub trait Cleanup: Reconciler {
    /// Undoes what the reconciles of `object` did outside of its children.
    ///
    /// [`Action::wait`] says that the cleanup is done. Any other action says that it is not: the finalizer stays, and the
    /// next call comes when the action says, or when something changes. [`Failure::waiting`](crate::controller::Failure::waiting)
    /// says that it is not done, and why. With several finalizers
    /// [`Context::finalizer`] returns the one that is removed next.
    ///
    /// After an error or a panic the key is retried, with backoff.
    fn cleanup(
        &self,
        object: Arc<Self::Resource>,
        cx: &Context<Self::Resource>,
    ) -> impl Future<Output = Result> + Send {
        let _ = (object, cx);
        async { Ok(Action::wait()) }
    }
}
