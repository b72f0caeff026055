//! A scripted server, and a reconciler whose behaviour the test sets.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::BoxFuture, stream};
use parking_lot::Mutex;
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    cache::{InformerScope, Informers, ListerWatcher},
    client::{Client, Config, Error, ListParams, ObjectList, WatchEvent, WatchParams, WatchStream},
    controller::{Action, Context, Controller, Environment, Reconciler, Result},
    metrics::Metrics,
    resource::{ApiResource, Object, ObjectKey, OwnerReference, Resource, Status},
};

/// Lets all tasks finish their work that needs no time.
pub(super) async fn settle() {
    pass(1).await;
}

/// Advances the paused clock by so many milliseconds.
pub(super) async fn pass(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

/// An object of any kind, in the namespace `default` unless the name is `other/name`.
pub(super) fn named<K: Resource + Default>(name: &str) -> K {
    let mut object = K::default();
    let metadata = object.metadata_mut();
    let (namespace, name) = match name.split_once('/') {
        Some(("", name)) => (None, name),
        Some((namespace, name)) => (Some(namespace), name),
        None => (Some("default"), name),
    };
    metadata.namespace = namespace.map(str::to_owned);
    metadata.name = Some(name.to_owned());
    object
}

/// The same object with a controller reference to an owner of kind `K`.
pub(super) fn owned_by<K: Resource, C: Resource>(mut child: C, name: &str, uid: &str) -> C {
    child.metadata_mut().owner_references = Some(vec![OwnerReference {
        api_version: ApiResource::of::<K>().api_version(),
        kind: K::KIND.into(),
        name: name.into(),
        uid: uid.into(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    child
}

pub(super) struct World {
    pub(super) informers: Informers,
    pub(super) metrics: Metrics,
    pub(super) cancel: CancellationToken,
    client: Client,
}

impl World {
    /// A world whose controllers write nothing.
    pub(super) fn new() -> Self {
        let client = Client::new(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        Self::with_client(client)
    }

    /// A world whose controllers write with this client.
    pub(super) fn with_client(client: Client) -> Self {
        let metrics = Metrics::new();
        let informers = Informers::new(client.clone(), metrics.clone());
        let cancel = CancellationToken::new();
        informers.start(&cancel);
        Self {
            informers,
            metrics,
            cancel,
            client,
        }
    }

    /// The collection of a kind. Without it a controller that wires the kind never syncs.
    pub(super) fn kind<K: Resource>(&self) -> Script<K> {
        self.kind_of(ApiResource::of::<K>())
    }

    /// The collection of a kind whose objects are read as `K`.
    pub(super) fn kind_of<K: Object + Clone>(&self, resource: ApiResource) -> Script<K> {
        let script = Script::new(resource.clone());
        let source = script.clone();
        self.informers
            .of_source::<K, _>(resource, InformerScope::all(), move |_| source.clone());
        script
    }

    pub(super) fn start<R: Reconciler>(&self, controller: Controller<R>) -> JoinHandle<()> {
        tokio::spawn(controller.run(self.environment(), self.cancel.child_token()))
    }

    pub(super) fn environment(&self) -> Environment {
        Environment::new(
            self.informers.clone(),
            self.client.clone(),
            self.metrics.clone(),
            "test",
        )
    }
}

/// The collection of one kind.
pub(super) struct Script<K> {
    resource: ApiResource,
    state: Arc<Mutex<Collection<K>>>,
}

struct Collection<K> {
    version: u64,
    objects: BTreeMap<ObjectKey, K>,
    watchers: Vec<mpsc::UnboundedSender<std::result::Result<WatchEvent<K>, Error>>>,
    forbidden: bool,
}

impl<K: Object + Clone> Script<K> {
    fn new(resource: ApiResource) -> Self {
        Self {
            resource,
            state: Arc::new(Mutex::new(Collection {
                version: 0,
                objects: BTreeMap::new(),
                watchers: Vec::new(),
                forbidden: false,
            })),
        }
    }

    /// Sets whether lists are refused.
    pub(super) fn forbid(&self, forbidden: bool) {
        self.state.lock().forbidden = forbidden;
    }

    /// Creates or changes an object. Its UID is its name unless it has one.
    pub(super) fn put(&self, mut object: K) {
        let mut state = self.state.lock();
        state.version += 1;
        let version = state.version;
        let name = object.name().to_owned();
        let metadata = object.metadata_mut();
        metadata.resource_version = Some(version.to_string());
        metadata.uid.get_or_insert(name);
        let event = match state.objects.insert(object.key(), object.clone()) {
            Some(_) => WatchEvent::Modified,
            None => WatchEvent::Added,
        };
        state.tell(|| event(object.clone()));
    }

    pub(super) fn delete(&self, name: &str) {
        let mut state = self.state.lock();
        let key = named_key(name);
        let Some(mut object) = state.objects.remove(&key) else {
            return;
        };
        state.version += 1;
        object.metadata_mut().resource_version = Some(state.version.to_string());
        state.tell(|| WatchEvent::Deleted(object.clone()));
    }

    /// Makes changes that no watch delivers: only the next list shows them.
    pub(super) fn unseen(&self, change: impl FnOnce(&Self)) {
        let watchers = std::mem::take(&mut self.state.lock().watchers);
        change(self);
        self.state.lock().watchers = watchers;
    }
}

pub(super) fn named_key(name: &str) -> ObjectKey {
    match name.split_once('/') {
        Some((namespace, name)) => ObjectKey::new(Some(namespace), name),
        None => ObjectKey::namespaced("default", name),
    }
}

impl<K> Collection<K> {
    fn tell(&mut self, event: impl Fn() -> WatchEvent<K>) {
        self.watchers.retain(|one| one.send(Ok(event())).is_ok());
    }
}

impl<K> Clone for Script<K> {
    fn clone(&self) -> Self {
        Self {
            resource: self.resource.clone(),
            state: self.state.clone(),
        }
    }
}

impl<K: Object + Clone> ListerWatcher<K> for Script<K> {
    type Item = K;
    type Watch = WatchStream<K>;

    async fn list(&self, _: &ListParams) -> std::result::Result<ObjectList<K>, Error> {
        let state = self.state.lock();
        if state.forbidden {
            let status = Status {
                reason: "Forbidden".into(),
                ..Status::from_code(403, "no rule allows it")
            };
            return Err(Error::api("list", self.resource.qualified_plural(), status));
        }
        let mut list = ObjectList::default();
        list.metadata.resource_version = Some(state.version.to_string());
        list.items = state.objects.values().cloned().collect();
        Ok(list)
    }

    async fn watch(&self, _: &WatchParams) -> std::result::Result<WatchStream<K>, Error> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.state.lock().watchers.push(sender);
        let events = stream::unfold(receiver, |mut receiver| async move {
            Some((receiver.recv().await?, receiver))
        });
        Ok(WatchStream::new(events.boxed()))
    }

    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn namespace(&self) -> Option<&str> {
        None
    }
}

/// A reconciler that records its calls, with a behaviour that the test sets.
pub(super) struct Probe<K: Resource> {
    pub(super) calls: Calls<K>,
    wire: Wire<K>,
    does: Does<K>,
}

type Wire<K> = Box<dyn Fn(Controller<Probe<K>>) -> Controller<Probe<K>> + Send + Sync>;
type Does<K> = Box<dyn Fn(Call<K>) -> BoxFuture<'static, Result> + Send + Sync>;

/// One call, as the behaviour of a [`Probe`] sees it.
pub(super) struct Call<K> {
    pub(super) key: ObjectKey,
    /// `None` for `deleted`.
    pub(super) object: Option<Arc<K>>,
    /// The number of calls for the key, including this one.
    pub(super) number: usize,
}

pub(super) struct Calls<K> {
    log: Arc<Mutex<Log<K>>>,
}

struct Log<K> {
    start: Instant,
    calls: Vec<(ObjectKey, Option<Arc<K>>, u128)>,
    active: BTreeMap<ObjectKey, usize>,
    overlaps: usize,
}

impl<K: Resource> Probe<K> {
    pub(super) fn new() -> Self {
        Self {
            calls: Calls {
                log: Arc::new(Mutex::new(Log {
                    start: Instant::now(),
                    calls: Vec::new(),
                    active: BTreeMap::new(),
                    overlaps: 0,
                })),
            },
            wire: Box::new(|controller| controller),
            does: Box::new(|_| Box::pin(async { Ok(Action::wait()) })),
        }
    }

    pub(super) fn wired(
        mut self,
        wire: impl Fn(Controller<Self>) -> Controller<Self> + Send + Sync + 'static,
    ) -> Self {
        self.wire = Box::new(wire);
        self
    }

    pub(super) fn does<F>(mut self, does: impl Fn(Call<K>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result> + Send + 'static,
    {
        self.does = Box::new(move |call| Box::pin(does(call)));
        self
    }

    fn call(
        &self,
        key: &ObjectKey,
        object: Option<Arc<K>>,
    ) -> impl Future<Output = Result> + Send + use<K> {
        let number = self.calls.note(key, object.clone());
        let does = (self.does)(Call {
            key: key.clone(),
            object,
            number,
        });
        let active = self.calls.enter(key);
        async move {
            let _active = active;
            // Gives other calls a chance to overlap.
            tokio::task::yield_now().await;
            does.await
        }
    }
}

impl<K: Resource> Reconciler for Probe<K> {
    type Resource = K;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        (self.wire)(controller)
    }

    async fn reconcile(&self, object: Arc<K>, cx: &Context<K>) -> Result {
        self.call(cx.key(), Some(object)).await
    }

    async fn deleted(&self, key: &ObjectKey, _: &Context<K>) -> Result<()> {
        self.call(key, None).await.map(drop)
    }
}

impl<K: Resource> Calls<K> {
    /// The keys of all calls, with `-` before those of `deleted`.
    pub(super) fn keys(&self) -> Vec<String> {
        let log = self.log.lock();
        let sign = |object: &Option<Arc<K>>| if object.is_some() { "" } else { "-" };
        let line = |(key, object, _): &(ObjectKey, _, _)| format!("{}{key}", sign(object));
        log.calls.iter().map(line).collect()
    }

    /// The milliseconds from the start to each call.
    pub(super) fn times(&self) -> Vec<u128> {
        let log = self.log.lock();
        log.calls.iter().map(|(_, _, time)| *time).collect()
    }

    /// The object of the last call.
    pub(super) fn last(&self) -> Option<Arc<K>> {
        self.log.lock().calls.last()?.1.clone()
    }

    /// How often a call began while another call for the same key was running.
    pub(super) fn overlaps(&self) -> usize {
        self.log.lock().overlaps
    }

    pub(super) fn clear(&self) {
        let mut log = self.log.lock();
        log.calls.clear();
        log.start = Instant::now();
    }

    pub(super) fn note(&self, key: &ObjectKey, object: Option<Arc<K>>) -> usize {
        let mut log = self.log.lock();
        let time = log.start.elapsed().as_millis();
        log.calls.push((key.clone(), object, time));
        log.calls
            .iter()
            .filter(|(other, _, _)| other == key)
            .count()
    }

    fn enter(&self, key: &ObjectKey) -> impl Drop + Send + use<K> {
        let mut log = self.log.lock();
        let active = log.active.entry(key.clone()).or_default();
        *active += 1;
        if *active > 1 {
            log.overlaps += 1;
        }
        drop(log);
        Entered(self.clone(), key.clone())
    }
}

struct Entered<K>(Calls<K>, ObjectKey);

impl<K> Drop for Entered<K> {
    fn drop(&mut self) {
        let mut log = self.0.log.lock();
        *log.active.get_mut(&self.1).unwrap() -= 1;
    }
}

impl<K> Clone for Calls<K> {
    fn clone(&self) -> Self {
        Self {
            log: self.log.clone(),
        }
    }
}
