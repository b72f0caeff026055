use std::{any::TypeId, collections::BTreeSet, fmt, hash::Hash, sync::Arc, time::Duration};

use futures_core::Stream;

use super::{access::AccessUse, reconciler::Reconciler};
use crate::{
    controller::{
        caches::Lookup,
        children::Children,
        error::{Error, Result},
        finalizers::CleanUp,
        predicate::Predicate,
        reconcilable::{Reconcilable, RuntimeKind},
        sources::{
            AnyDeclaredIndex, Declaration, KindSource, Mapping, Owned, Poll, PollSource, Read,
            ReconciledKind, Request, Sources, StreamSource, Watched, Wiring,
        },
        state::WRITE_LIMIT,
        status::ControllerStatus,
        wired::{Role, Wired},
    },
    queue::{ExponentialBackoff, MaxOf, RateLimiter, TokenBucket},
    resource::{
        Access, AccessRule, ApiResource, CanOwn, DynamicObject, ObjectKey, Resource,
        check_qualified_name,
    },
};

/// Runs a [`Reconciler`]: declares which kinds it watches, and how it works.
///
/// [`Reconciler::wire`] receives a controller and adds to it. [`new`](Self::new) calls it.
///
/// # What is shown on the objects
///
/// The controller shows a failed call on its object, unless [`without_failure_events`](Self::without_failure_events) or
/// [`without_ready_condition`](Self::without_ready_condition) switches that off:
///
/// * as a Warning Event with reason `ReconcileFailed` or `CleanupFailed` and the error as its note. Repeated failures are
///   one Event with a count.
/// * as the condition `Ready` with status `False`, the same reason, the error as its message, and `observedGeneration`. The
///   next reconcile that succeeds sets it to `True` with reason `Reconciled`, so that `kubectl wait --for=condition=Ready`
///   works.
///
/// A failure that often ends by itself (409, 429, 5xx, no connection, a timeout) is shown when the object has failed for
/// 10 s. All other failures are shown at once. While the API server cannot be reached, only the Event is kept, to be sent
/// later.
///
/// The condition is set for kinds that the program defines itself and whose status has `conditions` of type
/// `Vec<Condition>`, and for kinds known only at run time that [ask for it](Self::with_ready_condition). The framework uses server-side apply, without force and with the field manager
/// `<operator>-conditions`. It writes the condition only when it changes; `lastTransitionTime` changes only with the status;
/// the event of the write does not lead to a reconcile.
///
/// The first status that a reconciler writes gets the condition too, as `Unknown` with reason `Reconciling`: without it, others would take
/// an object for ready whose first reconcile still runs.
///
/// A call that [waits](crate::controller::Failure::waiting), for example for a child that is not ready, is no failure. The condition is `False`
/// with reason `ReconcileWaiting` or `CleanupWaiting` and what it waits for as its message. An object without the condition, for example of
/// a built-in kind, gets a normal Event instead.
///
/// If a call times out and its [blocking code](crate::controller::Context::blocking) runs on for more than 10 s, this is shown at once.
///
/// A `Ready` of another field manager stays as it is. When a status given to
/// [`Context::update_status`](crate::controller::Context::update_status) has a condition `Ready`, the framework stops setting
/// it. A condition with the framework's reason, which was only copied from the object, does not count. Two controllers of
/// one kind would share the condition: switch it off in one of them.
///
/// A success whose condition cannot be written counts as a failure. On an object that is being deleted the condition is set
/// only by a cleanup that fails or waits.
#[must_use]
pub struct Controller<R: Reconciler> {
    pub(crate) reconciler: Arc<R>,
    pub(crate) name: String,
    pub(crate) own: ReconciledKind<R::Resource>,
    pub(crate) wirings: Vec<Box<dyn Wiring<R::Resource>>>,
    pub(crate) indexes: Vec<Box<dyn AnyDeclaredIndex>>,
    pub(crate) concurrency: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) every: Option<Duration>,
    pub(crate) newest_only: bool,
    pub(crate) limiter: Box<dyn RateLimiter>,
    pub(crate) write_limit: (u32, Duration),
    pub(crate) failure_events: bool,
    pub(crate) ready_condition: bool,
    pub(crate) sources: Sources<R::Resource>,
    pub(crate) status: ControllerStatus,
    /// The access that it needs beyond that of the wired kinds.
    pub(crate) more: Access,
    pub(crate) access_use: AccessUse,
    pub(crate) children: Children<R::Resource>,
    pub(crate) cleanup: Option<CleanUp<R::Resource>>,
    /// The kinds that it writes without owning their objects.
    pub(super) written: BTreeSet<ApiResource>,
    /// The first kind that is declared as owned and that the reconciled kind cannot own.
    cannot_own: Option<ApiResource>,
}

impl<R: Reconciler> Controller<R> {
    /// The default number of reconciles at once. With one, controller-runtime's default, a single slow call delays every other
    /// object.
    pub const CONCURRENCY: usize = 4;

    /// The controller of `reconciler`, as its [`wire`](Reconciler::wire) declares it. Its name is the kind in lower case.
    pub fn new(reconciler: R) -> Self
    where
        R: Reconciler<Resource: Resource>,
    {
        Self::of(ApiResource::of::<R::Resource>(), reconciler)
    }

    /// As [`new`](Self::new), for a kind that is known only at run time. Its objects are read as
    /// [`DynamicObject`](crate::resource::DynamicObject), or as [`PartialObject`](crate::resource::PartialObject) if the
    /// metadata is enough.
    ///
    /// All that a controller offers is the same as for a kind with a Rust type, except:
    ///
    /// * The compiler does not know the scope of the kind. A namespaced object cannot own a cluster-scoped one: a controller
    ///   that declares this [does not start](Self::check).
    /// * The framework does not know whether the status has conditions. It sets the condition `Ready` only if
    ///   [`with_ready_condition`](Self::with_ready_condition) asks for it.
    /// * The program does not install the definition of the kind. Until the API server serves the kind, the controller waits,
    ///   and readiness names the kind ([R4](crate#guarantees)).
    ///
    /// [`resource`](Self::resource) and [`Context::resource`](crate::controller::Context::resource) return the kind.
    pub fn dynamic(resource: ApiResource, reconciler: R) -> Self
    where
        R: Reconciler<Resource: RuntimeKind>,
    {
        Self::of(resource, reconciler)
    }

    fn of(resource: ApiResource, reconciler: R) -> Self {
        let reconciler = Arc::new(reconciler);
        let name = resource.kind.to_lowercase();
        let bare = Self {
            reconciler: reconciler.clone(),
            status: ControllerStatus::new(&name),
            sources: Sources::default(),
            name,
            own: ReconciledKind::new(resource),
            wirings: Vec::new(),
            indexes: Vec::new(),
            concurrency: Self::CONCURRENCY,
            timeout: None,
            every: None,
            newest_only: false,
            limiter: Box::new(MaxOf::<ExponentialBackoff, TokenBucket>::default()),
            write_limit: WRITE_LIMIT,
            failure_events: true,
            ready_condition: !R::Resource::IS_RUNTIME,
            more: Access::none(),
            access_use: AccessUse::default(),
            children: Children::default(),
            cleanup: None,
            written: BTreeSet::new(),
            cannot_own: None,
        };
        reconciler.wire(bare)
    }

    /// The controller writes objects of kind `C` as their controlling owner. Every change of one leads to a reconcile of its
    /// owner, and [`Context`](crate::controller::Context) can read and apply the kind.
    ///
    /// If the cached metadata is enough, declare `owns::<PartialObject<Secret>>()`: the cache then keeps only the metadata of
    /// the Secrets. `cx.apply` still takes whole Secrets, and `cx.get` returns
    /// [`PartialObject`](crate::resource::PartialObject)s. The same works for [`watches`](Self::watches) and
    /// [`reads`](Self::reads), and there also for [views](macro@crate::Resource).
    ///
    /// Predicates, children in other namespaces and kinds known only at run time are options of [`Owned`], which
    /// [`watch`](Self::watch) takes.
    pub fn owns<C: Resource>(self) -> Self
    where
        <R::Resource as Reconcilable>::Scope: CanOwn<C::Scope>,
    {
        self.watch(Owned::<C>::new())
    }

    /// A change of an object of kind `C` leads to reconciles of the keys that `map` returns. `map` is called with both the old
    /// object and the new one.
    ///
    /// Predicates, kinds known only at run time, and mappings that need the change or the caches are options of
    /// [`Watched`], which [`watch`](Self::watch) takes.
    pub fn watches<C: Resource>(self, map: impl Fn(&C) -> Vec<ObjectKey> + Send + 'static) -> Self {
        self.watch(Watched::new(Mapping::objects(map)))
    }

    /// The controller reads objects of kind `C` from a cache. Their changes lead to no reconcile.
    pub fn reads<C: Resource>(self) -> Self {
        self.watch(Read::<C>::new())
    }

    /// After each successful reconcile, children of kind `C` that it did not request are deleted. A reconcile requests a
    /// child by [`apply`](crate::controller::Context::apply) or another write. So every reconcile has to apply all the
    /// children that are wanted, or to fail.
    ///
    /// Children are:
    ///
    /// * cached objects whose controller and only owner is the reconciled object. A restart forgets none.
    /// * its [detached](Owned::detached) children, and those that a former object of its name left behind.
    /// * detached children of an object that is gone, whose finalizer somebody removed by force. They are deleted when the
    ///   server says that the owner does not exist.
    ///
    /// A child is deleted only as it was seen, by UID and resource version. A detached child is deleted only if this operator
    /// [marked it](crate::controller::Child::detached).
    ///
    /// If the reconcile read an object that does not decode, alone or in a list of its [`Context`](crate::controller::Context),
    /// it may have applied too few children. Then nothing is pruned, and a log line names the object. If there are children to
    /// prune, the next reconcile comes within 30 s, so they are pruned soon after the object decodes or is gone. Objects
    /// that the reconciler reads in another way, from a [`Lister`](crate::cache::Lister) of its own or with
    /// [`live`](crate::controller::Context::live), are not noticed.
    ///
    /// A kind that is not owned any more can be pruned
    /// alone, to remove what a former version of the program made. If two controllers of one kind own the same kind of
    /// children, neither may prune it: each would delete the children of the other.
    ///
    /// A kind that is owned by its metadata alone is pruned as `prunes::<PartialObject<C>>()`. For a kind that is known only
    /// at run time declare `Owned::dynamic(..).pruned()` or `Read::dynamic(..).pruned()` by [`watch`](Self::watch).
    pub fn prunes<C: Resource>(self) -> Self {
        self.watch(Read::<C>::new().pruned())
    }

    /// Declares a kind with options: [`Owned`], [`Watched`] or [`Read`].
    ///
    /// ```
    /// # use pilothouse::{controller::{Controller, Owned, Predicate, Reconciler}, k8s::api::{apps::v1::Deployment, core::v1::ConfigMap}};
    /// # fn wire<R: Reconciler<Resource = Deployment>>(controller: Controller<R>) -> Controller<R> {
    /// controller.watch(Owned::<ConfigMap>::new().when(Predicate::labels()).every_owner())
    /// # }
    /// ```
    pub fn watch<S: KindSource<R::Resource>>(mut self, source: S) -> Self {
        let Declaration {
            resource,
            wiring,
            is_detached,
            is_pruned,
        } = source.declare();
        let wired = wiring.wired();
        let has_role = |role| wired.as_ref().is_some_and(|one| one.role == role);
        let is_namespaced = self.own.resource().namespaced;
        if has_role(Role::Owned) && is_namespaced && !resource.namespaced {
            self.cannot_own.get_or_insert_with(|| resource.clone());
        }
        if is_detached || is_pruned {
            let declared = self.children.declare::<S::Object>(&resource);
            declared.detached |= is_detached;
            declared.pruned |= is_pruned;
        }
        let is_only_pruned = is_pruned && has_role(Role::Read);
        if !(is_only_pruned && self.is_read_as(TypeId::of::<S::Object>(), &resource)) {
            self.wirings.push(wiring);
        }
        let verbs = match (is_detached, is_pruned) {
            (true, _) => &["create", "patch", "delete"][..],
            (false, true) => &["delete"],
            (false, false) => return self,
        };
        self.access(AccessRule::of_resource(&resource, verbs.iter().copied()))
    }

    /// Whether the kind is wired already, with objects of the type `id`.
    pub(super) fn is_read_as(&self, id: TypeId, resource: &ApiResource) -> bool {
        let mut wirings = self.wirings.iter();
        let is_wired = wirings.any(|one| {
            let wired = one.wired().filter(|_| one.read_as() == Some(id));
            wired.is_some_and(|wired| wired.resource == *resource)
        });
        is_wired || id == TypeId::of::<R::Resource>() && *resource == *self.own.resource()
    }

    /// Reconciles what the items of `stream` request. The stream is a [`Channel`](crate::controller::Channel), a
    /// [`Timer`](crate::controller::Timer), or any other stream.
    ///
    /// The controller takes the next item when it works and fewer than 1024 keys wait for a worker. So the sender has to wait
    /// while the controller is too slow. An object that is not in the cache is not reconciled. A stream that panics is counted
    /// and not polled any more.
    pub fn source<S>(self, stream: S) -> Self
    where
        S: Stream<Item: Into<Request> + Send> + Send + 'static,
    {
        self.with(StreamSource::requests(stream))
    }

    /// As [`source`](Self::source), for items that do not name the objects: `map` finds them, with the caches of the wired
    /// kinds. Its errors are logged and counted.
    pub fn source_with<S>(
        self,
        stream: S,
        map: impl FnMut(S::Item, &Lookup<'_>) -> Result<Vec<Request>> + Send + 'static,
    ) -> Self
    where
        S: Stream<Item: Send> + Send + 'static,
    {
        self.with(StreamSource {
            stream,
            map: Box::new(map),
        })
    }

    /// Reconciles the objects for which something outside of the cluster has changed. The keys of the [`Poll`] are keys of
    /// reconciled objects, or other values that convert into a [`Request`].
    pub fn polls<Q, S>(self, poll: Poll<Q, S>) -> Self
    where
        Q: Eq + Hash + Clone + Into<Request> + Send + 'static,
        S: PartialEq + Send + 'static,
    {
        self.polls_with(poll, |key, _| Ok(vec![key.into()]))
    }

    /// As [`polls`](Self::polls), for keys of your own: `map` finds the objects for a key, with the caches of the wired kinds.
    /// Its errors are logged and counted.
    pub fn polls_with<Q, S>(
        self,
        poll: Poll<Q, S>,
        map: impl FnMut(Q, &Lookup<'_>) -> Result<Vec<Request>> + Send + 'static,
    ) -> Self
    where
        Q: Eq + Hash + Clone + Send + 'static,
        S: PartialEq + Send + 'static,
    {
        let map = Box::new(map);
        self.with(PollSource { poll, map })
    }

    /// Adds and removes sources while the controller works. A reconcile gets the same from
    /// [`Context::sources`](crate::controller::Context::sources).
    pub fn sources(&self) -> Sources<R::Resource> {
        self.sources.clone()
    }

    fn with(mut self, wiring: impl Wiring<R::Resource> + 'static) -> Self {
        self.wirings.push(Box::new(wiring));
        self
    }

    /// Only changes of a reconciled object for which `predicate` holds lead to a reconcile. Without a predicate all changes
    /// do, except those that are only the status that the controller wrote itself.
    ///
    /// [Finalizers](Self::finalizer) are never added to an object that the predicate leaves out: one whose creation it drops. Other
    /// sources, such as children or watched objects, may still lead to a reconcile of such an object.
    pub fn when(mut self, predicate: Predicate<R::Resource>) -> Self {
        Arc::make_mut(&mut self.own.rules).predicate = Some(predicate);
        self
    }

    /// The largest number of reconciles at once, each for another key. 0 means 1. The default is
    /// [`CONCURRENCY`](Self::CONCURRENCY).
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// A reconcile that takes longer than this is dropped and counts as failed. The default is no limit. Blocking code of it is
    /// not dropped: see [`Context::blocking`](crate::controller::Context::blocking).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Reconciles each object again after this time, or up to a tenth less, even if nothing has changed. Use it if the
    /// reconciler manages something that does not report its changes. It also applies after a terminal failure, but not while
    /// the object is [paused](crate::controller::annotations::PAUSED). The default is never. Zero means never, too.
    pub fn every(mut self, period: Duration) -> Self {
        self.every = Some(period).filter(|period| !period.is_zero());
        self
    }

    /// Drops a running reconcile at its next await when the spec of its object changes or the object's deletion begins, and
    /// starts another one. Use it for long work that is useless once it is outdated. An object that changes faster than it
    /// is reconciled is not finished before the changes stop.
    pub fn cancel_on_new_generation(mut self) -> Self {
        self.newest_only = true;
        self
    }

    /// Sets the delays after failures. The default is `MaxOf<ExponentialBackoff, TokenBucket>`: each object waits 5 ms after
    /// its first failure in a row and twice as long after each further one, up to 300 s. After a burst of 100, the objects are
    /// retried 10 times per second, and their namespaces take turns: see [`TokenBucket`]. Cluster-scoped objects are one group.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use pilothouse::controller::{Controller, Reconciler};
    /// use pilothouse::queue::{ExponentialBackoff, MaxOf, TokenBucket};
    ///
    /// # fn wire<R: Reconciler>(controller: Controller<R>) -> Controller<R> {
    /// controller.rate_limiter(MaxOf(ExponentialBackoff::default(), TokenBucket::new(50.0, 500)))
    /// # }
    /// ```
    ///
    /// The delay is never shorter than what the API server asks for, what the [`Failure`](crate::controller::Failure) asks for,
    /// and the slow backoff of 403 and 422.
    pub fn rate_limiter(mut self, limiter: impl RateLimiter) -> Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// Sets how often the reconciles of one object may write: in `burst` calls at once, and in one more per `period`. The
    /// default is 30 calls and 1 s. With a period of zero there is no limit.
    ///
    /// An object that has used this up is reconciled at the next `period`. Meanwhile it takes no worker and delays no other
    /// object, and the call after the pause sees all changes. So a program that reverts each write of this controller does not
    /// lead to writes without end at full speed. Only calls that write through their
    /// [`Context`](crate::controller::Context) count, whether they succeed or not; writes through
    /// [`live`](crate::controller::Context::live) do not count. The first write after a pause is one log line and an Event
    /// with reason `WritesRepeat`, which name the written object. There is another one only if the object did not write for
    /// `burst` · `period` in between.
    ///
    /// Raise the limit if one object has to be written more than once per second for a long time, for example because all
    /// changes of a cluster are merged into one object.
    pub fn write_limit(mut self, burst: u32, period: Duration) -> Self {
        self.write_limit = (burst, period);
        self
    }

    /// Records no Events about failures; see [what is shown on the objects](Self#what-is-shown-on-the-objects).
    pub fn without_failure_events(mut self) -> Self {
        self.failure_events = false;
        self
    }

    /// Sets no condition `Ready`; see [what is shown on the objects](Self#what-is-shown-on-the-objects). A condition that
    /// was set before stays as it is.
    pub fn without_ready_condition(mut self) -> Self {
        self.ready_condition = false;
        self
    }

    /// Sets the name in logs and metrics: letters, digits, `-`, `_` and `.`, at most 63. Two controllers of one kind need different names: an operator with two controllers
    /// of one name does not start.
    ///
    /// Two controllers of one kind have separate queues, backoffs and finalizers, and share the caches. Both write with the
    /// operator's name as the field manager. So each field and each child must belong to one of them: when one controller
    /// applies a status, fields that only the other one applies are removed.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.status = ControllerStatus::new(&self.name);
        self
    }

    /// The name in logs and metrics.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The reconciled kind.
    pub fn resource(&self) -> ApiResource {
        self.own.resource().clone()
    }

    /// All kinds that it watches, the reconciled kind first.
    pub fn wired(&self) -> Vec<Wired> {
        let others = self.wirings.iter().map(|wiring| wiring.wired());
        let all = [self.own.wired()].into_iter().chain(others);
        all.flatten().collect()
    }

    /// Checks what does not show at compile time: the names, the declarations of kinds that are known only at run time, and those
    /// of indexes. An operator with a controller that fails this check does not start. A controller that is [run](Self::run)
    /// alone logs the error and ends at once.
    ///
    /// # Errors
    /// * [`Error::ControllerName`] or [`Error::FinalizerName`] if a name is invalid.
    /// * [`Error::CannotOwn`] if a cluster-scoped kind is declared as owned by a namespaced one.
    /// * [`Error::NotWired`] if an index is declared of a kind that is not declared.
    pub fn check(&self) -> std::result::Result<(), Error> {
        let name = match self.name.contains('/') {
            true => Err("must not contain a `/`"),
            false => check_qualified_name(&self.name),
        };
        name.map_err(|problem| Error::ControllerName {
            name: self.name.clone(),
            problem,
            example: self.own.resource().kind.to_lowercase(),
        })?;
        self.own.rules.check(&self.own.resource().kind)?;
        match &self.cannot_own {
            None => self.check_indexes(),
            Some(resource) => Err(Error::CannotOwn {
                owner: self.own.resource().kind.clone(),
                resource: Box::new(resource.clone()),
            }),
        }
    }

    /// Its status, now and while it [runs](Self::run).
    pub fn status(&self) -> ControllerStatus {
        self.status.clone()
    }
}

impl<R: Reconciler<Resource = DynamicObject>> Controller<R> {
    /// Sets the condition `Ready` on objects of a kind that is known only at run time; see
    /// [what is shown on the objects](Self#what-is-shown-on-the-objects).
    ///
    /// The framework does not know the schema of the kind. Use this only if the kind has the subresource `status`, and if its
    /// status has the field `conditions`: a list map with the key `type`, whose items have the fields of a
    /// [`Condition`](crate::k8s::apimachinery::pkg::apis::meta::v1::Condition). From another status the API server removes
    /// the condition, or it refuses each write of it, so that each reconcile fails.
    pub fn with_ready_condition(mut self) -> Self {
        self.ready_condition = true;
        self
    }
}

impl<R: Reconciler> fmt::Debug for Controller<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("wired", &self.wired())
            .finish_non_exhaustive()
    }
}
