use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{Request, Response, header};
use http_body_util::BodyExt;
use k8s_openapi::api::events::v1::Event;
use tokio_util::sync::CancellationToken;

use super::{
    Refill, Sent,
    objects::{Failing, Objects, kind_of},
    refill,
};
use crate::{
    cache::Informers,
    client::{Body, BoxError, Client},
    controller::{
        AccessUse, Action, Context, Controller, Environment, Failure, Reconciler, Result,
        apply_detached::Claims,
        call::Outcome,
        cancellation::Cancellation,
        context::{OwnCount, Shared},
        finalizers,
        fingerprints::Fingerprints,
        hub::Hub,
        last_status::LastStatus,
        publish::{Publishing, publish},
        readers::Readers,
        wanted::Wanted,
    },
    metrics::Metrics,
    resource::{ApiResource, ObjectKey, Resource, Scope, Status},
};

/// A reconciler with neither server nor caches nor tasks: objects in, writes out.
///
/// What the reconciler does goes the whole way of its [`Context`] and client, what `wire` does not declare is
/// refused as ever, and a small store answers in the server's place. That store knows no schemas, no defaults
/// and no conflicts of field managers: an apply removes what the one before it of the same manager had written and it has
/// not; lists are replaced as a whole, other than `conditions`, which are merged by their types. What it cannot answer (watches,
/// selectors, JSON patches, most subresources) fails with 501; such tests belong on a
/// [`Cluster`](crate::testing::Cluster).
///
/// Caches stand still while a reconcile runs; the next [`context`](Self::context) reads what was written.
/// Names without a namespace are of namespace `default`, where the kind has namespaces.
///
/// ```
/// use pilothouse::{k8s::api::core::v1::{ConfigMap, Secret}, prelude::*, resource::Status, testing::Offline};
///
/// /// Writes down which Secrets there are.
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
    reconciler: Arc<R>,
    shared: OwnCount<Shared<R::Resource>>,
    objects: Arc<Mutex<Objects>>,
    caches: Mutex<Vec<Refill>>,
    access_use: AccessUse,
    runs: AtomicU64,
}

impl<R: Reconciler> Offline<R> {
    /// No objects yet.
    pub fn new(reconciler: R) -> Self {
        let controller = Controller::new(reconciler);
        let objects = Arc::<Mutex<Objects>>::default();
        let metrics = Metrics::new();
        let client = client_of(objects.clone());
        let informers = Informers::new(client.clone(), metrics.clone());
        let environment = Environment::new(informers, client, metrics, controller.name());
        let needs = controller.needs();
        let (client, _) = controller
            .access_use
            .guard(&environment, &needs, &controller.wired());

        let readers = Readers::default();
        let mut caches = vec![refill::<R::Resource>(&controller.resource(), &readers)];
        caches.extend(
            controller
                .wirings
                .iter()
                .filter_map(|one| one.offline(&readers)),
        );
        let Some(own) = readers.get::<R::Resource>(&controller.resource()) else {
            unreachable!("it was made readable right above")
        };
        controller.children.connect_offline(&readers);
        let kind = R::Resource::KIND;
        let publishing = Publishing::of(&controller, &environment.field_manager);
        let mut hub = Hub::new(controller.name, kind, controller.limiter, &environment);
        hub.publishing = publishing;
        hub.readers = readers;
        Self {
            reconciler: controller.reconciler,
            shared: Arc::new(Arc::new(Shared {
                hub: Arc::new(hub),
                own,
                client,
                events: environment.events,
                field_manager: environment.field_manager,
                fingerprints: Fingerprints::new(),
                children: controller.children,
                finalizers: controller.finalizers,
                claims: Claims::default(),
                namespaces: environment.namespaces,
                sources: controller.sources,
                stop: CancellationToken::new(),
            })),
            objects,
            caches: Mutex::new(caches),
            access_use: controller.access_use,
            runs: AtomicU64::new(0),
        }
    }

    /// Puts an object there, in the place of one of its name, and gives it back as the server would: with a UID,
    /// a resource version, a generation and a namespace where they are missing.
    pub fn seed<K: Resource>(&self, object: K) -> K {
        let key = match (object.namespace(), K::Scope::NAMESPACED) {
            (None, true) => ObjectKey::namespaced("default", object.name()),
            _ => object.key(),
        };
        let body = serde_json::to_value(&object).unwrap_or_default();
        let kept = self.objects().put::<K>(&key, body);
        serde_json::from_value(kept).unwrap_or(object)
    }

    /// What the store holds now, the reconciler's writes included.
    pub fn get<K: Resource>(&self, name: &str) -> Option<K> {
        let key = key::<K>(name);
        let resource = ApiResource::of::<K>();
        self.objects()
            .of::<K>(&resource)
            .find(|object| object.key() == key)
    }

    /// A context of the object of that name, with caches that are as the store is now.
    pub fn context(&self, name: &str) -> Context<R::Resource> {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = self.objects();
        caches.iter_mut().for_each(|refill| refill(&objects));
        drop((objects, caches));
        let key = key::<R::Resource>(name);
        let object = self.shared.own.get(&key).ok().flatten();
        if object.is_some() {
            self.shared.hub.states.begin(&key, false);
        }
        Context {
            key,
            object,
            run: self.runs.fetch_add(1, Ordering::Relaxed) + 1,
            cancellation: Cancellation::default(),
            shared: self.shared.clone(),
            // There is no watch by which it could come back.
            uncached: true,
            wanted: Wanted::default(),
            last_status: LastStatus::default(),
            finalizer: None,
        }
    }

    /// Reconciles the object of that name, once, as the controller does: the finalizers that `wire` asks for
    /// stand on it before, it is cleaned up instead if it is [being deleted](Self::delete), what is not
    /// applied any more is pruned, and how it ended is shown on the object.
    ///
    /// # Errors
    /// The reconciler's; there is no such object.
    pub async fn reconcile(&self, name: &str) -> Result<Action> {
        let context = self.context(name);
        let Some(object) = context.object.clone() else {
            let (kind, key) = (R::Resource::KIND, &context.key);
            return Err(Failure::new(format!(
                "there is no {kind} {key}: seed it first"
            )));
        };
        let cleans_up = self.shared.finalizers.cleans_up(&*object);
        let ended = finalizers::reconcile(&*self.reconciler, object, &context).await;
        let outcome = ended.map_or_else(Outcome::Failed, Outcome::Done);
        match publish(&context, cleans_up, outcome).await {
            Outcome::Done(action) => Ok(action),
            Outcome::Failed(failure) => Err(failure),
            _ => unreachable!("a call that was not limited either ends or fails"),
        }
    }

    /// Calls [`Reconciler::deleted`] for the object of that name, and forgets it.
    ///
    /// # Errors
    /// The reconciler's; the object is still there.
    pub async fn deleted(&self, name: &str) -> Result<()> {
        let context = self.context(name);
        let key = context.key.clone();
        if context.object.is_some() {
            let kind = R::Resource::KIND;
            return Err(Failure::new(format!(
                "{kind} {key} is there: delete it first, and reconcile it if it has finalizers"
            )));
        }
        self.reconciler.deleted(&key, &context).await?;
        self.shared.hub.states.remove(&key);
        Ok(())
    }

    /// Forgets all that the controller remembers of its objects, as if the program was started anew. The objects stay.
    ///
    /// A test sees so what a restart writes: [`writes`](Self::writes) is empty after the next reconcile if the
    /// children are as they were applied.
    pub fn restart(&self) {
        self.shared.hub.states.clear();
    }

    /// Deletes an object, as somebody else would: it goes at once, or stays with its deletion begun
    /// while it has finalizers. Tells whether there was one.
    pub fn delete<K: Resource>(&self, name: &str) -> bool {
        self.objects().remove::<K>(&key::<K>(name))
    }

    /// The Events that were recorded since this was last asked, oldest first. Equal ones are one with a
    /// count, as ever.
    pub fn events(&self) -> Vec<Event> {
        self.shared.events.take_unsent()
    }

    /// The reconciler.
    pub fn reconciler(&self) -> &R {
        &self.reconciler
    }

    /// The writes so far, oldest first, those that failed included.
    pub fn writes(&self) -> Vec<Sent> {
        self.objects().sent.clone()
    }

    /// Of the writes the whole objects of a kind: applied, created, updated.
    pub fn written<K: Resource>(&self) -> Vec<K> {
        let objects = self.objects();
        objects.sent.iter().filter_map(Sent::object).collect()
    }

    /// Forgets the writes so far.
    pub fn forget_writes(&self) {
        self.objects().sent.clear();
    }

    /// Answers the next `verb` on kind `K` with `status` instead. The verbs are RBAC's, and `apply`, which `patch`
    /// means, too.
    pub fn fail_next<K: Resource>(&self, verb: &str, status: Status) {
        self.objects().failures.push(Failing {
            verb: verb.to_owned(),
            kind: kind_of::<K>(),
            status,
        });
    }

    /// Which of the declared needs were used.
    pub fn access_use(&self) -> &AccessUse {
        &self.access_use
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        lock(&self.objects)
    }
}

impl<R: Reconciler> fmt::Debug for Offline<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offline")
            .field("kind", &R::Resource::KIND)
            .finish_non_exhaustive()
    }
}

fn lock(objects: &Mutex<Objects>) -> MutexGuard<'_, Objects> {
    objects.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `name` or `namespace/name`.
fn key<K: Resource>(name: &str) -> ObjectKey {
    match name.split_once('/') {
        Some((namespace, name)) => ObjectKey::namespaced(namespace, name),
        None if K::Scope::NAMESPACED => ObjectKey::namespaced("default", name),
        None => ObjectKey::cluster(name),
    }
}

/// A client whose server the objects are.
fn client_of(objects: Arc<Mutex<Objects>>) -> Client {
    Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let objects = objects.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let (code, answer) = match lock(&objects).answer(&head, &body) {
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
