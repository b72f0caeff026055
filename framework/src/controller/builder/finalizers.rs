use std::sync::Arc;

use super::{cleanup::Cleanup, controller::Controller, reconciler::Reconciler};
use crate::{controller::finalizer_rules::Condition, resource::AccessRule};

/// Finalizers: objects that are not deleted before their cleanup.
impl<R: Reconciler> Controller<R> {
    /// Objects are not deleted before [`Cleanup::cleanup`] has succeeded. The finalizer `name`, such as
    /// `example.com/website`, is added to each object before its first reconcile, except to objects that the predicate of
    /// [`when`](Self::when) leaves out: those whose creation it drops, as they are now.
    ///
    /// Several finalizers are handled in the order in which they are declared: each is removed before the cleanup for the next
    /// one begins. The controller does not wait for finalizers of other controllers. An object that is being deleted already
    /// and has none of these finalizers is neither reconciled nor cleaned up. If somebody removes the finalizer by force,
    /// only [`deleted`](Reconciler::deleted) is called.
    ///
    /// `name` is a domain, a `/` and a name of at most 63 characters. A controller with an invalid finalizer, or with one that
    /// is declared twice, [does not start](Self::check).
    pub fn finalizer(self, name: impl Into<String>) -> Self
    where
        R: Cleanup,
    {
        self.declare_finalizer(&name.into(), None)
    }

    /// As [`finalizer`](Self::finalizer), for the objects for which `condition` holds: those that have something to clean up.
    ///
    /// * The finalizer is added before the reconcile of an object for which the condition holds.
    /// * It is removed after a successful reconcile of an object for which the condition does not hold. [`Cleanup::cleanup`] is
    ///   not called: the reconcile sees the object as it is now, and undoes what is not wanted any more. After a
    ///   reconcile that read an object that does not decode the finalizer stays, and the next one comes within 30 s.
    /// * A change of the object that changes the condition leads to a reconcile, also if the predicate drops the change or if it is a
    ///   status that the controller wrote itself. On an object that the predicate leaves out the finalizer is not added.
    /// * While an object is being deleted, the condition is not asked: each finalizer that the object has gets its cleanup. So
    ///   nothing is left behind if the condition changes together with the deletion. No finalizer is added any more.
    /// * Of several finalizers each has its own condition. The order is that of the declarations.
    /// * A finalizer deletes the [detached](crate::controller::Child::detached) children. So the last one stays, whatever its
    ///   condition says, until the object has no detached children. A detached child of an object for which no condition holds
    ///   is refused: [`Error::FinalizerNotNeeded`](crate::controller::Error::FinalizerNotNeeded).
    ///
    /// If the work takes several reconciles, let the condition hold until it is done, for example as long as the status names
    /// something to clean up:
    ///
    /// ```
    /// # use pilothouse::{controller::{Cleanup, Controller, Reconciler}, k8s::api::core::v1::Service};
    /// # fn wire<R: Cleanup<Resource = Service>>(controller: Controller<R>) -> Controller<R> {
    /// controller.finalizer_when("example.com/load-balancer", |service| {
    ///     let spec = service.spec.as_ref();
    ///     let wanted = spec.and_then(|spec| spec.type_.as_deref()) == Some("LoadBalancer");
    ///     let status = service.status.as_ref();
    ///     let exists = status.and_then(|status| status.load_balancer.as_ref()?.ingress.as_ref());
    ///     wanted || exists.is_some()
    /// })
    /// # }
    /// ```
    ///
    /// A condition that panics fails the reconcile, and no finalizer changes.
    pub fn finalizer_when(
        self,
        name: impl Into<String>,
        condition: impl Fn(&R::Resource) -> bool + Send + Sync + 'static,
    ) -> Self
    where
        R: Cleanup,
    {
        self.declare_finalizer(&name.into(), Some(Arc::new(condition)))
    }

    /// Removes the finalizer `name`, which a former version of the program used, from all objects: those that are being deleted, and
    /// those that the predicate leaves out, too. [`Cleanup::cleanup`] is not called for it, and an object that the predicate
    /// leaves out is not reconciled because of it.
    ///
    /// To rename a finalizer, declare the new name by [`finalizer`](Self::finalizer) and the old one by this: one write exchanges
    /// them, so that an object is never without one. An object that is already being deleted gets no new finalizer, so it is
    /// gone without a cleanup. If it needs one, declare the old name by [`finalizer`](Self::finalizer) until no object has it.
    pub fn finalizer_retired(mut self, name: impl Into<String>) -> Self {
        let rules = Arc::make_mut(&mut self.own.rules);
        rules.retire(&name.into());
        let rule = AccessRule::of_resource(self.own.resource(), ["patch"]);
        self.access(rule)
    }

    fn declare_finalizer(
        mut self,
        name: &str,
        condition: Option<Arc<Condition<R::Resource>>>,
    ) -> Self
    where
        R: Cleanup,
    {
        let rules = Arc::make_mut(&mut self.own.rules);
        rules.declare(name, condition);
        let reconciler = self.reconciler.clone();
        self.cleanup = Some(Arc::new(move |object, cx| {
            let reconciler = reconciler.clone();
            Box::pin(async move { reconciler.cleanup(object, cx).await })
        }));
        let rule = AccessRule::of_resource(self.own.resource(), ["patch"]);
        self.access(rule)
    }
}
