use std::{fmt, sync::Arc, time::SystemTime};

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::{sync::OnceCell, task::spawn_blocking, time::Instant};

use super::{
    Discovery, DiscoveryCache, MappingError, ServedKind,
    kind_query::KindQuery,
    memory::{Memory, Outcome, ReadScope, Reading, SharedReading, Step},
    resolve::resolve,
};
use crate::{
    client::{Api, Client, Error},
    resource::{DynamicObject, Object},
};

/// Maps names from people and manifests to kinds.
///
/// Cheap to clone; clones share what they know. The mapper reads nothing before the first call.
///
/// # How a name is resolved
/// A plural name comes before a kind or a singular, and these before a short name. Case does not matter. If several
/// groups have the name, the core group comes first, then Kubernetes' own groups (without a dot, or below `k8s.io`) in
/// the server's order. Other groups have no order: if several of them have the name, the result is
/// [`MappingError::Ambiguous`]. Without a version, the mapper uses the group's preferred version that has the kind.
///
/// # How old an answer can be
/// If the mapper does not know a name, it reads again: the group that the name contains, or everything. So it finds a
/// kind that was installed later. All callers at the same time wait for one reading. It does not read again what it
/// read less than 3 s ago; [`refresh`](Self::refresh) and [`refresh_group`](Self::refresh_group) always read. What it
/// read more than 10 minutes ago, it reads again before it uses it, and uses the old answer if that fails. So the
/// mapper may return a kind for 10 minutes after it was removed, or installed again with another scope. With
/// [`follow_definitions`](Self::follow_definitions) this time is about 10 s. After
/// [`refresh_group`](Self::refresh_group), which code should call after a 404, the answer is up to date. With a
/// [cache on disk](Self::cached), its lifetime is in place of the 10 minutes, for the memory and the files.
///
/// A version that cannot be read keeps its last known kinds. Groups that cannot be read do not affect the others.
///
/// ```no_run
/// use pilothouse::client::{Client, Config, RestMapper};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mapper = RestMapper::new(&Client::new(Config::infer().await?)?);
/// let kind = mapper.find("deploy").await?;
/// assert_eq!(kind.to_string(), "deployments.apps/v1");
/// assert!(kind.can("watch") && kind.subresource("scale").is_some());
/// assert_eq!(mapper.kind("apps/v1", "Deployment").await?, kind);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RestMapper {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    memory: Mutex<Memory>,
    /// Where what is known is kept for other processes.
    cache: Option<DiscoveryCache>,
    /// Whether the file of the cache was read.
    loaded: OnceCell<()>,
}

impl fmt::Debug for RestMapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RestMapper({})", self.inner.client.server())
    }
}

impl RestMapper {
    /// A mapper for the client's server.
    pub fn new(client: &Client) -> Self {
        Self::with(client, Memory::default(), None)
    }

    /// A mapper that begins with what `cache` has of the client's server, and keeps there what it reads. A client
    /// [from a service](Client::from_service) has no server, so its mapper uses no cache.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Client, DiscoveryCache, MappingError, RestMapper};
    /// # async fn example(client: Client) -> Result<(), MappingError> {
    /// use std::time::Duration;
    ///
    /// let home = std::env::home_dir().unwrap_or_default();
    /// let cache = DiscoveryCache::new(home.join(".cache/example/discovery"));
    /// let mapper = RestMapper::cached(&client, cache.lifetime(Duration::from_secs(6 * 60 * 60)));
    /// println!("{}", mapper.find("deploy").await?);
    /// # Ok(()) }
    /// ```
    pub fn cached(client: &Client, cache: DiscoveryCache) -> Self {
        Self::with(client, Memory::lasting(cache.time()), Some(cache))
    }

    fn with(client: &Client, memory: Memory, cache: Option<DiscoveryCache>) -> Self {
        Self {
            inner: Arc::new(Inner {
                client: client.clone(),
                memory: Mutex::new(memory),
                cache,
                loaded: OnceCell::new(),
            }),
        }
    }

    /// Finds the kind with a name as people write it: plural, singular, kind or short name, alone or with its group
    /// (`deployments.apps`) or version and group (`deployments.v1.apps`, `pods.v1`).
    ///
    /// # Errors
    /// [`MappingError::NotFound`] or [`MappingError::Ambiguous`]; [`MappingError::Client`] or
    /// [`MappingError::Unreadable`] if the server could not be read.
    pub async fn find(&self, name: &str) -> Result<Arc<ServedKind>, MappingError> {
        let (first, second) = KindQuery::readings(name);
        match (self.look_up(&first).await, second) {
            // The error of the likelier meaning is more useful.
            (Err(error), Some(second)) if error.is_not_found() => {
                self.look_up(&second).await.map_err(|_| error)
            }
            (found, _) => found,
        }
    }

    /// Finds the kind with the `apiVersion` and `kind` of a manifest.
    ///
    /// # Errors
    /// [`MappingError::NotFound`] if it is not served; [`MappingError::Client`] or [`MappingError::Unreadable`] if the
    /// server could not be read.
    pub async fn kind(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Arc<ServedKind>, MappingError> {
        self.look_up(&KindQuery::kind(api_version, kind)).await
    }

    /// Finds the kind with that name in a group, in the server's preferred version; `""` is the core group.
    ///
    /// # Errors
    /// As for [`kind`](Self::kind).
    pub async fn kind_in_group(
        &self,
        group: &str,
        kind: &str,
    ) -> Result<Arc<ServedKind>, MappingError> {
        self.look_up(&KindQuery::kind_in_group(group, kind)).await
    }

    /// Returns an [`Api`](crate::client::Api) for the kind that [`find`](Self::find) finds, in a namespace or, with
    /// `None`, in the whole cluster. For a cluster-scoped kind, the namespace is ignored, as by kubectl.
    ///
    /// # Errors
    /// As for [`find`](Self::find).
    pub async fn api(
        &self,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Api<DynamicObject>, MappingError> {
        let kind = self.find(name).await?;
        Ok(self.api_of(&kind, namespace))
    }

    /// Returns an [`Api`](crate::client::Api) for the kind of an object, in the object's namespace or the client's
    /// default one.
    ///
    /// # Errors
    /// As for [`kind`](Self::kind).
    pub async fn api_for(
        &self,
        object: &DynamicObject,
    ) -> Result<Api<DynamicObject>, MappingError> {
        let types = &object.types;
        let kind = self.kind(&types.api_version, &types.kind).await?;
        let default = self.inner.client.default_namespace();
        let namespace = object.metadata().namespace.as_deref().unwrap_or(default);
        Ok(self.api_of(&kind, Some(namespace)))
    }

    pub(super) fn client(&self) -> &Client {
        &self.inner.client
    }

    fn api_of(&self, kind: &ServedKind, namespace: Option<&str>) -> Api<DynamicObject> {
        let namespace = namespace.filter(|_| kind.resource.namespaced);
        Api::of(&self.inner.client, kind.resource.clone(), namespace)
    }

    /// Returns what the mapper knows. Reads it if nothing was read yet.
    ///
    /// # Errors
    /// It could not be read.
    pub async fn discovery(&self) -> Result<Arc<Discovery>, Arc<Error>> {
        self.inner.loaded.get_or_init(|| self.inner.load()).await;
        if let Some(known) = self.inner.memory.lock().known() {
            return Ok(known);
        }
        self.look_again(ReadScope::Everything).await?;
        Ok(self.inner.memory.lock().known().unwrap_or_default())
    }

    /// Reads everything now.
    ///
    /// # Errors
    /// It could not be read. The mapper keeps what it knew.
    pub async fn refresh(&self) -> Result<Arc<Discovery>, Arc<Error>> {
        self.read(ReadScope::Everything).await?;
        self.discovery().await
    }

    /// Reads one group now; `""` is the core group. Call it if a request for one of its kinds was answered with 404, or
    /// if its definitions changed.
    ///
    /// # Errors
    /// It could not be read. The mapper keeps what it knew.
    pub async fn refresh_group(&self, group: &str) -> Result<(), Arc<Error>> {
        // One group alone would look like everything.
        if self.inner.memory.lock().known().is_none() {
            return self.refresh().await.map(drop);
        }
        self.read(ReadScope::Group(group.to_owned())).await
    }

    async fn look_up(&self, query: &KindQuery) -> Result<Arc<ServedKind>, MappingError> {
        let failed = |source| MappingError::Client {
            query: query.to_string(),
            source,
        };
        let found = resolve(&*self.discovery().await.map_err(failed)?, query);
        let extent = match &found {
            Ok(kind) if !self.inner.is_old(&kind.resource.group) => return found,
            Ok(kind) => ReadScope::Group(kind.resource.group.to_string()),
            Err(MappingError::Ambiguous { .. }) => return found,
            Err(_) => match &query.group {
                Some(group) => ReadScope::Group(group.clone()),
                None => ReadScope::Everything,
            },
        };
        let outcome = self.look_again(extent).await;
        let found = resolve(&*self.discovery().await.map_err(failed)?, query);
        match (found, outcome) {
            (Err(_), Err(source)) => Err(failed(source)),
            (found, _) => found,
        }
    }

    /// Reads, unless there was a reading just now.
    async fn look_again(&self, extent: ReadScope) -> Outcome {
        let begin = |number| self.inner.shared_reading(number, extent.clone());
        let step = self
            .inner
            .memory
            .lock()
            .look_again(&extent, Instant::now(), begin);
        match step {
            Step::Known(outcome) => outcome,
            Step::Wait(shared_reading) => shared_reading.await,
        }
    }

    /// Starts a reading after this call, and returns its result.
    async fn read(&self, extent: ReadScope) -> Outcome {
        let earliest = self.inner.memory.lock().next();
        loop {
            let begin = |number| self.inner.shared_reading(number, extent.clone());
            let (number, shared_reading) = self.inner.memory.lock().join(&extent, begin);
            let outcome = shared_reading.await;
            if number >= earliest {
                return outcome;
            }
        }
    }
}

impl Inner {
    fn is_old(&self, group: &str) -> bool {
        self.memory.lock().is_old(group, Instant::now())
    }

    /// Takes what the cache has.
    async fn load(&self) {
        let Some(cache) = self.cache.clone() else {
            return;
        };
        let server = self.client.server().to_owned();
        let found = spawn_blocking(move || cache.load(&server, SystemTime::now())).await;
        if let Ok(Some((discovery, age))) = found
            && let Some(read) = Instant::now().checked_sub(age)
        {
            self.memory.lock().remember(discovery, read);
        }
    }

    /// Keeps what is known for other processes.
    async fn store(&self) {
        let (Some(cache), Some((known, read))) =
            (self.cache.clone(), self.memory.lock().everything())
        else {
            return;
        };
        let (server, age) = (self.client.server().to_owned(), read.elapsed());
        let stored = spawn_blocking(move || {
            let now = SystemTime::now();
            let read_at = now.checked_sub(age).unwrap_or(now);
            cache.store(&server, &known, read_at)
        });
        if let Ok(Err(error)) = stored.await {
            tracing::debug!("the discovery cache cannot be written: {error}");
        }
    }

    /// A reading. It continues as long as a caller waits for it.
    fn shared_reading(self: &Arc<Self>, number: u64, extent: ReadScope) -> SharedReading {
        let inner = self.clone();
        let reading = async move {
            let client = &inner.client;
            let found = match &extent {
                ReadScope::Everything => client.discover().await.map(Reading::Everything),
                ReadScope::Group(name) => client
                    .discover_group(name)
                    .await
                    .map(|group| Reading::Group(name.clone(), group)),
            };
            let outcome = inner
                .memory
                .lock()
                .end(number, extent, found, Instant::now());
            if outcome.is_ok() {
                inner.store().await;
            }
            outcome
        };
        reading.boxed().shared()
    }
}
