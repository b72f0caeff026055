use std::{fmt, future::Future, sync::Arc, time::Duration};

use futures_core::Stream;
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use super::{
    AccessUse, Change, ControllerStatus, Environment, Error, Lookup, Predicate, Reconciler,
    Request, Result, Sources, Wired,
    children::Children,
    finalizers::Finalizers,
    owner_map::References,
    sources::{Kind, Mapping, Own, Owned, Pumped, Read, Watched, Wiring},
    start,
};
use crate::{
    queue::{ExponentialBackoff, MaxOf, RateLimiter, TokenBucket},
    resource::{Access, ApiResource, CanOwn, Object, ObjectKey, Resource, Scope},
};

/// A [`Reconciler`] with all that belongs to it: which kinds it watches and how it works.
///
/// [`Reconciler::wire`] gets one and adds to it; [`new`](Self::new) calls it.
///
/// # What is shown on the objects
///
/// A call that fails is shown on its object, unless [`without_failure_events`](Self::without_failure_events) or
/// [`without_ready_condition`](Self::without_ready_condition) says otherwise:
///
/// * as a Warning Event with reason `ReconcileFailed` or `CleanupFailed` and the error as its note. Repeated failures are
///   one Event with a count.
/// * as the condition `Ready` with status `False`, the same reason, the error as its message, and `observedGeneration`. The
///   next reconcile that succeeds makes it `True` with reason `Reconciled`, so that `kubectl wait --for=condition=Ready`
///   works.
///
/// A failure that often ends by itself (409, 429, 5xx, no connection, a timeout) is shown when the object has failed for
/// 10 s. All others are shown at once. While the API server cannot be reached, only the Event is kept, to be sent later.
///
/// The condition is for kinds that the program defines itself and whose status has `conditions` of type
/// `Vec<Condition>`. The framework applies it by server-side apply, without force and with the field manager
/// `<operator>-conditions`. It is written only when it changes, `lastTransitionTime` changes only with the status, and its
/// echo does not lead to a reconcile. A `Ready` that somebody else sets is theirs: as soon as a status given to
/// [`Context::update_status`](super::Context::update_status) has one, the framework sets none any more; one that was only
/// copied from the object, with the framework's reason, stays the framework's. Two controllers of
/// one kind would share the condition: switch it off in one of them.
///
/// A success whose condition cannot be written counts as a failure. The condition is not set on an object that is being
/// deleted, other than by a cleanup that fails.
#[must_use]
pub struct Controller<R: Reconciler> {
    pub(super) reconciler: Arc<R>,
    pub(super) name: String,
    pub(super) own: Own<R::Resource>,
    pub(super) wirings: Vec<Box<dyn Wiring<R::Resource>>>,
    pub(super) concurrency: usize,
    pub(super) timeout: Option<Duration>,
    pub(super) every: Option<Duration>,
    pub(super) newest_only: bool,
    pub(super) limiter: Box<dyn RateLimiter>,
    pub(super) failure_events: bool,
    pub(super) ready_condition: bool,
    pub(super) sources: Sources<R::Resource>,
    pub(super) status: ControllerStatus,
    /// What it needs beyond what the wirings say.
    pub(super) more: Access,
    pub(super) access_use: AccessUse,
    pub(super) children: Children<R::Resource>,
    pub(super) finalizers: Finalizers<R::Resource>,
    /// What it says that it owns and cannot own.
    cannot_own: Option<ApiResource>,
}

impl<R: Reconciler> Controller<R> {
    /// How many reconciles run at once unless told otherwise. One (controller-runtime's default)
    /// lets a slow call to somewhere else hold up every object.
    pub const CONCURRENCY: usize = 4;

    /// The controller of `reconciler`, as its [`wire`](Reconciler::wire) makes it. It is named
    /// after the kind, in lower case.
    pub fn new(reconciler: R) -> Self {
        let reconciler = Arc::new(reconciler);
        let name = R::Resource::KIND.to_lowercase();
        let bare = Self {
            reconciler: reconciler.clone(),
            status: ControllerStatus::new(&name),
            sources: Sources::default(),
            name,
            own: Own {
                predicate: None,
                finalizers: Vec::new(),
            },
            wirings: Vec::new(),
            concurrency: Self::CONCURRENCY,
            timeout: None,
            every: None,
            newest_only: false,
            limiter: Box::new(MaxOf::<ExponentialBackoff, TokenBucket>::default()),
            failure_events: true,
            ready_condition: true,
            more: Access::none(),
            access_use: AccessUse::default(),
            children: Children::default(),
            finalizers: Finalizers::default(),
            cannot_own: None,
        };
        reconciler.wire(bare)
    }

    /// It writes objects of kind `C` as their controlling owner. Every change of one leads to a
    /// reconcile of its owner, and [`Context`](super::Context) can read and apply the kind.
    ///
    /// Where the metadata of what is cached is enough, `owns::<PartialObject<Secret>>()` keeps nothing else of all the
    /// Secrets there are: `cx.apply` takes whole ones as ever, and `cx.get` gives
    /// [`PartialObject`](crate::resource::PartialObject)s. The same goes for `watches` and `reads`, and for
    /// [views](macro@crate::Resource) there.
    pub fn owns<C: Resource>(self) -> Self
    where
        <R::Resource as Resource>::Scope: CanOwn<C::Scope>,
    {
        self.owned::<C>(None, References::Controller)
    }

    /// As [`owns`](Self::owns), but of the changes only those for which `predicate` holds. That an
    /// object changes hands always counts, for the former owner and for the new one.
    pub fn owns_when<C: Resource>(self, predicate: Predicate<C>) -> Self
    where
        <R::Resource as Resource>::Scope: CanOwn<C::Scope>,
    {
        self.owned(Some(predicate), References::Controller)
    }

    /// As [`owns`](Self::owns), but a change leads to all owners of the reconciled kind, not only
    /// to the controlling one.
    pub fn owns_together<C: Resource>(self) -> Self
    where
        <R::Resource as Resource>::Scope: CanOwn<C::Scope>,
    {
        self.owned::<C>(None, References::Every)
    }

    /// As [`owns`](Self::owns), for a kind known only at run time. Its objects are read as `C`s:
    /// [`DynamicObject`](crate::resource::DynamicObject)s, or
    /// [`PartialObject`](crate::resource::PartialObject)s where the metadata is enough.
    ///
    /// A namespaced object owns nothing that is cluster-scoped: such a controller [does not start](Self::check).
    pub fn owns_of<C>(mut self, resource: ApiResource) -> Self
    where
        C: Object + Serialize + DeserializeOwned,
    {
        if <R::Resource as Resource>::Scope::NAMESPACED && !resource.namespaced {
            self.cannot_own.get_or_insert_with(|| resource.clone());
        }
        self.with(Owned::<C> {
            kind: Kind::of(resource),
            predicate: None,
            references: References::Controller,
        })
    }

    fn owned<C: Resource>(self, predicate: Option<Predicate<C>>, references: References) -> Self {
        self.with(Owned {
            kind: Kind::typed(),
            predicate,
            references,
        })
    }

    /// Changes of objects of kind `C` lead to reconciles of the keys that `map` names. Of a change
    /// both the old and the new object are mapped.
    pub fn watches<C: Resource>(self, map: impl Fn(&C) -> Vec<ObjectKey> + Send + 'static) -> Self {
        self.with(Watched {
            kind: Kind::typed(),
            map: Mapping::Object(Box::new(map)),
            predicate: None,
        })
    }

    /// As [`watches`](Self::watches), but of the changes only those for which `predicate` holds.
    pub fn watches_when<C: Resource>(
        self,
        predicate: Predicate<C>,
        map: impl Fn(&C) -> Vec<ObjectKey> + Send + 'static,
    ) -> Self {
        self.with(Watched {
            kind: Kind::typed(),
            map: Mapping::Object(Box::new(map)),
            predicate: Some(predicate),
        })
    }

    /// As [`watches`](Self::watches), for a kind known only at run time. The mapping says what its objects are read
    /// as: whole, or only their metadata.
    ///
    /// ```
    /// # use pilothouse::controller::{Controller, Reconciler};
    /// use pilothouse::resource::{ApiResource, DynamicObject, Object, PartialObject};
    ///
    /// # fn wire<R: Reconciler>(controller: Controller<R>, widgets: ApiResource, gadgets: ApiResource) -> Controller<R> {
    /// controller
    ///     .watches_of(widgets, |widget: &DynamicObject| vec![widget.key()])
    ///     .watches_of(gadgets, |gadget: &PartialObject| vec![gadget.key()])
    /// # }
    /// ```
    pub fn watches_of<C>(
        self,
        resource: ApiResource,
        map: impl Fn(&C) -> Vec<ObjectKey> + Send + 'static,
    ) -> Self
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.with(Watched {
            kind: Kind::of(resource),
            map: Mapping::Object(Box::new(map)),
            predicate: None,
        })
    }

    /// As [`watches`](Self::watches), for a mapping that needs to know what happened, or to look something up in
    /// the caches of the wired kinds. What it fails with is logged and counted.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pilothouse::controller::{Action, Context, Controller, Reconciler, Result};
    /// use pilothouse::k8s::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use pilothouse::resource::Object;
    /// # struct Restarts;
    /// # impl Reconciler for Restarts {
    /// #     type Resource = Deployment;
    ///
    /// fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
    ///     // All Deployments beside a ConfigMap that came or changed.
    ///     controller.watches_changes::<ConfigMap>(|change, caches| {
    ///         let Some(namespace) = change.new().and_then(|settings| settings.namespace()) else {
    ///             return Ok(Vec::new());
    ///         };
    ///         let webs = caches.lister::<Deployment>()?.in_namespace(namespace);
    ///         Ok(webs.items.iter().map(|web| web.key()).collect())
    ///     })
    /// }
    /// #     async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result<Action> {
    /// #         Ok(Action::wait())
    /// #     }
    /// # }
    /// ```
    pub fn watches_changes<C: Resource>(
        self,
        map: impl Fn(&Change<'_, C>, &Lookup<'_>) -> Result<Vec<ObjectKey>> + Send + 'static,
    ) -> Self {
        self.with(Watched {
            kind: Kind::typed(),
            map: Mapping::Change(Box::new(map)),
            predicate: None,
        })
    }

    /// It reads objects of kind `C`; their changes lead to nothing.
    pub fn reads<C: Resource>(self) -> Self {
        self.with(Read::<C>(Kind::typed()))
    }

    /// As [`reads`](Self::reads), for a kind known only at run time, whose objects are read as `C`s;
    /// [`Context::get_of`](super::Context::get_of) reads it.
    pub fn reads_of<C>(self, resource: ApiResource) -> Self
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.with(Read::<C>(Kind::of(resource)))
    }

    /// Reconciles what `stream` asks for: a [`Channel`](super::Channel), a [`Timer`](super::Timer), or any other.
    ///
    /// The next item is taken when the controller works and less than 1024 keys wait for a worker, so that
    /// whoever feeds the stream has to wait. An object that is not in the cache is not reconciled.
    /// A stream that panics is counted, and not asked any more.
    pub fn source<S>(self, stream: S) -> Self
    where
        S: Stream<Item: Into<Request> + Send> + Send + 'static,
    {
        self.with(Pumped::requests(stream))
    }

    /// As [`source`](Self::source), for items that have to be looked up to know whom they concern. What
    /// `map` fails with is logged and counted.
    pub fn source_with<S>(
        self,
        stream: S,
        map: impl FnMut(S::Item, &Lookup<'_>) -> Result<Vec<Request>> + Send + 'static,
    ) -> Self
    where
        S: Stream<Item: Send> + Send + 'static,
    {
        self.with(Pumped {
            stream,
            map: Box::new(map),
        })
    }

    /// Adds and removes sources while the controller works; a reconcile has the same by
    /// [`Context::sources`](super::Context::sources).
    pub fn sources(&self) -> Sources<R::Resource> {
        self.sources.clone()
    }

    fn with(mut self, wiring: impl Wiring<R::Resource> + 'static) -> Self {
        self.wirings.push(Box::new(wiring));
        self
    }

    /// Of the changes of a reconciled object only those for which `predicate` holds lead to a
    /// reconcile. Without it all do, other than those that are only its own status.
    pub fn when(mut self, predicate: Predicate<R::Resource>) -> Self {
        self.own.predicate = Some(predicate);
        self
    }

    /// At most so many reconciles run at once, each for another key; 0 means 1.
    /// By default [`CONCURRENCY`](Self::CONCURRENCY).
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// A reconcile that takes longer is dropped and counts as failed. By default there is no limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Reconciles each object again when so long, or up to a tenth less, has passed since it was last, though
    /// nothing happened to it: for a world that tells nothing of its changes. Also after a terminal
    /// failure; not while the object is [paused](super::annotations::PAUSED). By default never.
    pub fn every(mut self, period: Duration) -> Self {
        self.every = Some(period);
        self
    }

    /// Drops a reconcile that runs, where it waits, when the spec of its object changed or the
    /// object's deletion began, and starts another one: for work that takes long and is of no use once it
    /// is outdated. What is changed faster than it is reconciled is not finished before it rests.
    pub fn cancel_on_new_generation(mut self) -> Self {
        self.newest_only = true;
        self
    }

    /// Delays failures by `limiter`. The default is `MaxOf<ExponentialBackoff, TokenBucket>`: each object waits 5 ms after
    /// its first failure in a row and twice as long after each further one, up to 300 s; all objects together are retried at
    /// most 10 times per second after a burst of 100.
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
    /// What the API server asks for, what [`Failure`](super::Failure) says, and the slow backoff of 403 and 422 are lower
    /// bounds of each delay, whatever the limiter says.
    pub fn rate_limiter(mut self, limiter: impl RateLimiter) -> Self {
        self.limiter = Box::new(limiter);
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

    /// Names it otherwise than after the kind, in logs and metrics. Needed for two controllers of
    /// one kind: an operator with two of one name does not start.
    ///
    /// Such two have a queue, backoff and finalizers each, and share the caches. They write under one name, the
    /// operator's, so that each field and each child has to be the business of one of them: a field of
    /// the status that only the other one applies is removed.
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
        ApiResource::of::<R::Resource>()
    }

    /// All kinds it watches, the reconciled one first.
    pub fn wired(&self) -> Vec<Wired> {
        let others = self.wirings.iter().map(|wiring| wiring.wired());
        let all = [self.own.wired()].into_iter().chain(others);
        all.flatten().collect()
    }

    /// Whether it can work as it is wired; one that cannot logs why and ends at once. What is known at compile
    /// time does not compile then.
    ///
    /// # Errors
    /// [`Error::CannotOwn`].
    pub fn check(&self) -> std::result::Result<(), Error> {
        match &self.cannot_own {
            None => Ok(()),
            Some(resource) => Err(Error::CannotOwn {
                owner: R::Resource::KIND,
                resource: Box::new(resource.clone()),
            }),
        }
    }

    /// How it is doing, now and while it [runs](Self::run).
    pub fn status(&self) -> ControllerStatus {
        self.status.clone()
    }

    /// Works until `cancel`, and returns when no reconcile is running any more. Dropping the future
    /// drops running reconciles where they wait.
    ///
    /// The informers' caches have to be filled by whoever owns `environment`; no reconcile starts
    /// before all wired kinds have synced (design promise R4).
    pub fn run(
        self,
        environment: Environment,
        cancel: CancellationToken,
    ) -> impl Future<Output = ()> + Send {
        start::run(self, environment, cancel)
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
