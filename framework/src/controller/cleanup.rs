use std::{future::Future, sync::Arc};

use super::{Action, Context, Controller, Reconciler, Result};
use crate::resource::AccessRule;

/// A [`Reconciler`] that has something to undo before an object goes.
///
/// Asked for in `wire` by [`finalizer`](super::Controller::finalizer). The finalizer stands on an object before
/// its first reconcile; once the deletion began, `cleanup` is called instead of `reconcile`, and
/// when it has succeeded the finalizer is taken away, and no other.
///
/// Children with an owner reference are deleted by the garbage collector after that. Those of
/// [`apply_detached`](Context::apply_detached) outlive `cleanup` too: they are deleted after it, and
/// the last finalizer stays until they are gone. If there is nothing else to undo, the body stays empty:
///
/// ```
/// # use std::sync::Arc;
/// # use pilothouse::{controller::{Action, Cleanup, Context, Controller, Reconciler, Result}, resource::Object};
/// # use pilothouse::k8s::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// struct Notes;
///
/// impl Reconciler for Notes {
///     type Resource = Deployment;
///
///     fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
///         controller.owns_detached::<ConfigMap>().finalizer("notes.example.com/notes")
///     }
///
///     async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
///         let mut note = ConfigMap::named(object.name());
///         note.metadata.namespace = Some("notes".into());
///         cx.apply_detached(note).await?;
///         Ok(Action::wait())
///     }
/// }
///
/// impl Cleanup for Notes {}
/// ```
///
/// It is called again after a failure, a restart of the program or a lost answer: what was undone
/// already must be no error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` asks for a finalizer and does not say what to do when an object goes",
    label = "`Cleanup` is not implemented",
    note = "add `impl Cleanup for {Self} {{ async fn cleanup(&self, object: Arc<Self::Resource>, cx: &Context<Self::Resource>) -> Result {{ .. }} }}`, with an empty body if only detached children are to be deleted"
)]
pub trait Cleanup: Reconciler {
    /// Undoes what `object` brought about outside of its children.
    ///
    /// [`Action::wait`] says that it is done. Any other action says that it is not: the finalizer
    /// stays and the next call comes when the action says, or when something changes. With several
    /// finalizers [`Context::finalizer`] tells which of them is to go.
    ///
    /// An error or a panic leads to another call, with backoff.
    fn cleanup(
        &self,
        object: Arc<Self::Resource>,
        cx: &Context<Self::Resource>,
    ) -> impl Future<Output = Result> + Send {
        let _ = (object, cx);
        async { Ok(Action::wait()) }
    }
}

impl<R: Reconciler> Controller<R> {
    /// Objects are not deleted before [`Cleanup::cleanup`] has succeeded: the finalizer `name`, such as
    /// `example.com/website`, is put on each before its first reconcile.
    ///
    /// Several are undone in the order in which they are asked for, each gone before the next one's
    /// turn. Those of other controllers are not waited for. An object that is being deleted already and
    /// bears none of them is neither reconciled nor cleaned up. If somebody removes the
    /// finalizer by force, only [`deleted`](Reconciler::deleted) is called.
    ///
    /// # Panics
    /// `name` is no domain, `/` and a name of at most 63 characters, or is asked for twice.
    #[track_caller]
    pub fn finalizer(mut self, name: impl Into<String>) -> Self
    where
        R: Cleanup,
    {
        let name = name.into();
        self.own.finalizers.push(name.as_str().into());
        self.finalizers.add(&self.reconciler, name);
        self.access(AccessRule::of::<R::Resource>(["patch"]))
    }
}
