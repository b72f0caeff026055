use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{Request, Response, header};
use http_body_util::BodyExt;
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use super::{
    Sent,
    objects::{Failing, Objects, kind_of},
};
use crate::{
    cache::Informers,
    client::{Body, BoxError, Client},
    clock::Clock,
    controller::{
        AccessUse, Action, BlockingWork, Context, Controller, ControllerState, Environment,
        Failure, Finalizers, FixedCache, Invoker, Outcome, Reconcilable, Reconciler, Result,
        RuntimeKind, SharedContext, UserCode, publish,
    },
    metrics::Metrics,
    queue::PerWorkerArc,
    resource::{ApiResource, Object, ObjectKey, Resource, Status, Versions},
};

/// Runs a reconciler on objects in memory, without a server, informers or tasks: objects in, writes out.
///
/// The reconciler uses its real [`Context`] and client. A request that `wire` does not declare is refused as usual. A small
/// store answers instead of a server. It knows no schemas, no defaults and no conflicts of field managers. An apply removes the
/// fields that the last apply of the same manager had and it has not. Lists are replaced as a whole, except `conditions`,
/// which are merged by their types. Requests that the store cannot answer (watches, selectors, JSON patches, most
/// subresources) fail with 501; use a [`Cluster`](crate::testing::Cluster) for tests that need them.
///
/// Its [clock](Context::now) shows the beginning of 2026 at first, and then follows tokio's clock: in a test with a paused clock,
/// `tokio::time::advance` makes time pass. [`set_time`](Self::set_time) sets it. The reconciler, the condition `Ready`, the Events and
/// the times of creations and deletions have this clock.
///
/// The caches do not change while a reconcile runs; the next [`context`](Self::context) reads what was written. A name without
/// a namespace is in the namespace `default`, if the kind is namespaced.
///
/// ```
/// use pilothouse::{k8s::api::core::v1::{ConfigMap, Secret}, prelude::*, resource::Status, testing::Offline};
///
/// /// Writes a ConfigMap for each Secret.
/// struct Inventory;
///
/// impl Reconciler for Inventory {
///     type Resource = Secret;
///
///     fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
///         controller.owns::<ConfigMap>()
///     }
///
///     async fn reconcile(&self, secret: Arc<Secret>, cx: &Context<Secret>) -> Result<Action> {
///         cx.apply(ConfigMap::named(secret.name())).await?;
///         Ok(Action::wait())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let offline = Offline::new(Inventory);
/// offline.seed(Secret::named("key"));
/// offline.fail_next::<ConfigMap>("apply", Status::from_code(503, "not now"));
/// assert!(offline.reconcile("key").await.is_err());
/// offline.forget_writes();
///
/// let _ = offline.reconcile("key").await.unwrap();
/// assert_eq!(offline.written::<ConfigMap>()[0].name(), "key");
/// # }
/// ```
pub struct Offline<R: Reconciler> {
    invoker: Invoker<R>,
    shared: PerWorkerArc<SharedContext<R::Resource>>,
    objects: Arc<Mutex<Objects>>,
    caches: Mutex<Vec<FixedCache>>,
    time: Arc<Mutex<Clock>>,
    access_use: AccessUse,
    runs: AtomicU64,
}

impl<R: Reconciler> Offline<R> {
    /// A reconciler without objects.
    ///
    /// # Panics
    /// If an operator with the controller would not start: see [`Controller::check`](crate::controller::Controller::check).
    #[track_caller]
    pub fn new(reconciler: R) -> Self
    where
        R: Reconciler<Resource: Resource>,
    {
        Self::of(Controller::new(reconciler))
    }

    /// As [`new`](Self::new), for a kind that is known only at run time: see
    /// [`Controller::dynamic`](crate::controller::Controller::dynamic). [`seed_of`](Self::seed_of) puts its objects into the
    /// store.
    ///
    /// ```
    /// use pilothouse::{prelude::*, resource::{ApiResource, DynamicObject}, testing::Offline};
    ///
    /// /// Writes a ConfigMap for each object of some kind.
    /// struct Inventory;
    ///
    /// impl Reconciler for Inventory {
    ///     type Resource = DynamicObject;
    ///
    ///     fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
    ///         controller.owns::<ConfigMap>()
    ///     }
    ///
    ///     async fn reconcile(&self, object: Arc<DynamicObject>, cx: &Context<DynamicObject>) -> Result<Action> {
    ///         cx.apply(ConfigMap::named(object.name())).await?;
    ///         Ok(Action::wait())
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let widgets = ApiResource {
    ///     group: "example.com".into(), version: "v1".into(),
    ///     kind: "Widget".into(), plural: "widgets".into(), namespaced: true,
    /// };
    /// let offline = Offline::dynamic(widgets.clone(), Inventory);
    /// offline.seed_of(&widgets, DynamicObject::new(&widgets, "one"));
    ///
    /// let _ = offline.reconcile("one").await.unwrap();
    /// assert_eq!(offline.written::<ConfigMap>()[0].name(), "one");
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[track_caller]
    pub fn dynamic(resource: ApiResource, reconciler: R) -> Self
    where
        R: Reconciler<Resource: RuntimeKind>,
    {
        Self::of(Controller::dynamic(resource, reconciler))
    }

    #[track_caller]
    fn of(controller: Controller<R>) -> Self {
        if let Err(error) = controller.check() {
            panic!("the controller does not start: {error}");
        }
        let objects = Arc::<Mutex<Objects>>::default();
        let metrics = Metrics::new();
        let start = Timestamp::from_second(START).unwrap_or_default();
        let time = Arc::new(Mutex::new(Clock::starting_at(start)));
        let shown = time.clone();
        let clock = Clock::from_fn(move || shown.lock().now());
        objects.lock().clock = clock.clone();
        if let Some(versions) = R::Resource::versions() {
            objects.lock().convert(versions);
        }
        let client = client_of(objects.clone()).with_clock(clock);
        let informers = Informers::new(client.clone(), metrics.clone());
        let environment = Environment::new(informers, client, metrics, controller.name());
        let resource = controller.resource();
        let access_use = controller.access_use();
        let (client, _) = access_use.guard(&environment, &controller.needs(), &controller.wired());

        let Controller {
            reconciler,
            name,
            own,
            wirings,
            indexes,
            concurrency,
            limiter,
            failure_events,
            ready_condition,
            sources,
            children,
            cleanup,
            ..
        } = controller;
        let finalizers = Finalizers::new(&own.rules, cleanup);
        let mut state = ControllerState::new(name, resource.clone(), limiter, &environment);
        state.blocking = BlockingWork::new(concurrency);
        let wired = &state.caches;
        let mut caches = vec![FixedCache::new::<R::Resource>(&resource, wired)];
        caches.extend(wirings.iter().filter_map(|one| one.fixed_cache(wired)));
        let Some(lister) = wired.get::<R::Resource>(&resource) else {
            unreachable!("the kind was made readable above")
        };
        for index in indexes {
            index.connect_without_informer(wired);
        }
        wired.set_synced();
        children.connect_without_informer(wired);
        let user = UserCode {
            reconciler,
            finalizers,
            children,
            sources,
            failure_events,
            ready_condition,
        };
        let stop = CancellationToken::new();
        let invoker = Invoker::new(user, Arc::new(state), lister, client, environment, stop);
        Self {
            shared: Arc::new(invoker.shared.clone()),
            invoker,
            objects,
            caches: Mutex::new(caches),
            time,
            access_use,
            runs: AtomicU64::new(0),
        }
    }

    /// The present time of the test.
    pub fn now(&self) -> Timestamp {
        self.time.lock().now()
    }

    /// Sets the present time, also to an earlier one. From there it follows tokio's clock.
    pub fn set_time(&self, now: Timestamp) {
        *self.time.lock() = Clock::starting_at(now);
    }

    /// Puts an object into the store, and replaces an object of its name. Returns it as a server would: with a UID, a resource
    /// version, a generation and a namespace where they are missing.
    pub fn seed<K: Resource>(&self, object: K) -> K {
        self.objects.lock().convert(Versions::of::<K>());
        self.seed_of(&ApiResource::of::<K>(), object)
    }

    /// As [`seed`](Self::seed), for a kind that is known only at run time.
    pub fn seed_of<C>(&self, resource: &ApiResource, mut object: C) -> C
    where
        C: Object + Serialize + DeserializeOwned,
    {
        object.fill_types(resource);
        let key = match (object.namespace(), resource.namespaced) {
            (None, true) => ObjectKey::namespaced("default", object.name()),
            _ => object.key(),
        };
        let body = serde_json::to_value(&object).unwrap_or_default();
        let kept = self.objects.lock().put(resource, &key, body);
        serde_json::from_value(kept).unwrap_or(object)
    }

    /// The object of that name in the store, with the reconciler's writes. Returns `None` if the store does not have it.
    pub fn get<K: Resource>(&self, name: &str) -> Option<K> {
        self.get_of(&ApiResource::of::<K>(), name)
    }

    /// As [`get`](Self::get), for a kind that is known only at run time.
    pub fn get_of<C>(&self, resource: &ApiResource, name: &str) -> Option<C>
    where
        C: Object + DeserializeOwned,
    {
        let key = key(resource, name);
        let mut objects = self.objects.lock().of::<C>(resource);
        objects.find(|object| object.key() == key)
    }

    /// A context for the object of that name. First the caches are set to the present objects of the store.
    pub fn context(&self, name: &str) -> Context<R::Resource> {
        let mut caches = self.caches.lock();
        let objects = self.objects.lock();
        let version = objects.version().to_string();
        for cache in caches.iter_mut() {
            cache.set(&objects.values(&cache.resource), &version);
        }
        drop((objects, caches));
        let key = key(&self.shared.controller.resource, name);
        let object = self.shared.own.get(&key).ok().flatten();
        if object.is_some() {
            self.shared.controller.key_states.begin(&key, false);
        }
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        // No watch would ever deliver what it writes.
        Context::new(&self.shared, key, object, run).without_read_your_writes()
    }

    /// Reconciles the object of that name once, as the controller does: adds the declared finalizers before; cleans up instead if
    /// the object is [being deleted](Self::delete); prunes children; and shows the outcome on the object.
    ///
    /// # Errors
    /// The failure of the reconciler, also one that only waits ([`Failure::is_waiting`]). A failure too if no object of that name
    /// exists.
    pub async fn reconcile(&self, name: &str) -> Result<Action> {
        let context = self.context(name);
        let Some(object) = context.object().cloned() else {
            let (kind, key) = (&context.resource().kind, context.key());
            return Err(Failure::new(format!(
                "reconcile {kind} {key}: no such object: add it with `seed` first"
            )));
        };
        let cleans_up = self.invoker.finalizers.cleans_up(&*object);
        let ended = self.invoker.reconcile(object, &context).await;
        let outcome = ended.unwrap_or_else(Outcome::Failed);
        match publish(&context, cleans_up, outcome).await {
            Outcome::Done(action) => Ok(action),
            Outcome::Failed(failure) => Err(failure),
            _ => unreachable!("a call without limits either succeeds or fails"),
        }
    }

    /// Calls [`Reconciler::deleted`] for the object of that name, and forgets the object.
    ///
    /// # Errors
    /// The failure of the reconciler. A failure too if the object still exists.
    pub async fn deleted(&self, name: &str) -> Result<()> {
        let context = self.context(name);
        let key = context.key().clone();
        if context.object().is_some() {
            let kind = &context.resource().kind;
            return Err(Failure::new(format!(
                "call `deleted` for {kind} {key}: the object exists: delete it first, and reconcile it if it has finalizers"
            )));
        }
        self.invoker.reconciler.deleted(&key, &context).await?;
        self.shared.controller.key_states.remove(&key);
        Ok(())
    }

    /// Forgets everything that the controller remembers of its objects, as a restart of the program does. The objects stay.
    ///
    /// With this a test sees what a restart writes: [`writes`](Self::writes) is empty after the next reconcile if the children
    /// are as they were applied.
    pub fn restart(&self) {
        self.shared.controller.key_states.clear();
    }

    /// Deletes an object as another client would: it is gone at once, or stays with a deletion timestamp while it has
    /// finalizers. Returns whether it existed.
    pub fn delete<K: Resource>(&self, name: &str) -> bool {
        self.delete_of(&ApiResource::of::<K>(), name)
    }

    /// As [`delete`](Self::delete), for a kind that is known only at run time.
    pub fn delete_of(&self, resource: &ApiResource, name: &str) -> bool {
        let key = key(resource, name);
        self.objects.lock().remove(resource, &key)
    }

    /// The Events that were recorded since the last call of this method, oldest first. Equal Events are one with a count, as
    /// usual.
    pub fn events(&self) -> Vec<Event> {
        self.shared.events.take_unsent()
    }

    /// The reconciler.
    pub fn reconciler(&self) -> &R {
        &self.invoker.reconciler
    }

    /// The writes so far, oldest first, including those that failed.
    pub fn writes(&self) -> Vec<Sent> {
        self.objects.lock().sent.clone()
    }

    /// The objects of a kind that were written as a whole: applied, created or updated.
    pub fn written<K: Resource>(&self) -> Vec<K> {
        self.written_of(&ApiResource::of::<K>())
    }

    /// As [`written`](Self::written), for a kind that is known only at run time.
    pub fn written_of<C: DeserializeOwned>(&self, resource: &ApiResource) -> Vec<C> {
        let objects = self.objects.lock();
        let written = objects.sent.iter();
        written
            .filter_map(|sent| sent.object_of(resource))
            .collect()
    }

    /// Forgets the writes so far.
    pub fn forget_writes(&self) {
        self.objects.lock().sent.clear();
    }

    /// Answers the next request with this verb on kind `K` with `status`. The verbs are those of RBAC, and `apply`. `patch` matches
    /// an apply too.
    pub fn fail_next<K: Resource>(&self, verb: &str, status: Status) {
        self.fail_next_of(&ApiResource::of::<K>(), verb, status);
    }

    /// As [`fail_next`](Self::fail_next), for a kind that is known only at run time.
    pub fn fail_next_of(&self, resource: &ApiResource, verb: &str, status: Status) {
        self.objects.lock().failures.push(Failing {
            verb: verb.to_owned(),
            kind: kind_of(resource),
            status,
        });
    }

    /// Which of the needs that `wire` declares were used.
    pub fn access_use(&self) -> &AccessUse {
        &self.access_use
    }
}

impl<R: Reconciler> fmt::Debug for Offline<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offline")
            .field("kind", &self.shared.controller.resource.kind)
            .finish_non_exhaustive()
    }
}

/// 2026-01-01T00:00:00Z, as in a sandbox with a seed.
const START: i64 = 1_767_225_600;

/// `name` or `namespace/name`.
fn key(resource: &ApiResource, name: &str) -> ObjectKey {
    match name.split_once('/') {
        Some((namespace, name)) => ObjectKey::namespaced(namespace, name),
        None if resource.namespaced => ObjectKey::namespaced("default", name),
        None => ObjectKey::cluster(name),
    }
}

/// A client whose requests the objects answer.
fn client_of(objects: Arc<Mutex<Objects>>) -> Client {
    Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let objects = objects.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let (code, answer) = match objects.lock().answer(&head, &body) {
                Ok(answer) => (200, answer),
                Err(status) => (status.code, serde_json::to_value(status)?),
            };
            let answer = Response::builder()
                .status(code)
                .header(header::CONTENT_TYPE, "application/json")
                .body(answer.to_string())?;
            Ok::<_, BoxError>(answer)
        }
    }))
}
