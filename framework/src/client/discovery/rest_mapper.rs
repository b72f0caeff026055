use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::FutureExt;
use tokio::time::Instant;

use super::{
    Discovery, MappingError, ServedKind,
    memory::{Extent, Flight, Memory, Outcome, Reading, Step},
    resolve::resolve,
    wanted::Wanted,
};
use crate::{
    client::{Api, Client, Error},
    resource::{DynamicObject, Object},
};

/// Maps what people and manifests name to the kind that is meant.
///
/// Cheap to clone; clones share what they know. Nothing is read before the first question.
///
/// # How a name is resolved
/// A plural name comes before a kind or a singular, and these before a short name; upper and lower
/// case are the same. Of several groups that have the name, the core group comes first, then
/// Kubernetes' own (without a dot, or below `k8s.io`) in the server's order. Other groups have no
/// order: a name that several of them have is [`MappingError::Ambiguous`]. Without a version, the
/// group's preferred version that has the kind counts.
///
/// # How old an answer can be
/// A name that is not known is looked for again: in the group it names, or everywhere when it names
/// none; so a kind that was installed later is found. All who ask at the same time wait for one
/// reading. What was read less than 3 s ago is not read again; [`refresh`](Self::refresh) and
/// [`refresh_group`](Self::refresh_group) always read. What was read more than 10 minutes ago is
/// read again before it is used, and used as it is when that fails. So a kind that was removed, or
/// installed anew with another scope, is taken for what it was for 10 minutes at most; for some 10 s
/// where [`follow_definitions`](Self::follow_definitions) runs; and not at all after
/// [`refresh_group`](Self::refresh_group), which is for whoever gets a 404.
///
/// A version that cannot be read keeps the kinds it had, if it had any; groups that can be read are
/// not held back by one that cannot.
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
}

impl fmt::Debug for RestMapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RestMapper({})", self.inner.client.server())
    }
}

impl RestMapper {
    /// A mapper of what the client's server serves.
    pub fn new(client: &Client) -> Self {
        Self {
            inner: Arc::new(Inner {
                client: client.clone(),
                memory: Mutex::default(),
            }),
        }
    }

    /// The kind that people name: by plural, singular, kind or short name, alone or followed by its
    /// group (`deployments.apps`) or version and group (`deployments.v1.apps`, `pods.v1`).
    ///
    /// # Errors
    /// Nothing has that name, or several kinds do; or the server could not be asked.
    pub async fn find(&self, name: &str) -> Result<Arc<ServedKind>, MappingError> {
        let (first, second) = Wanted::readings(name);
        match (self.look_up(&first).await, second) {
            // The error of the likelier meaning says more.
            (Err(error), Some(second)) if error.is_not_found() => {
                self.look_up(&second).await.map_err(|_| error)
            }
            (found, _) => found,
        }
    }

    /// The kind that a manifest names by its `apiVersion` and `kind`.
    ///
    /// # Errors
    /// It is not served; or the server could not be asked.
    pub async fn kind(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Arc<ServedKind>, MappingError> {
        self.look_up(&Wanted::kind(api_version, kind)).await
    }

    /// The kind of that name in a group, in the version that the server prefers; `""` is the core
    /// group.
    ///
    /// # Errors
    /// It is not served; or the server could not be asked.
    pub async fn kind_in_group(
        &self,
        group: &str,
        kind: &str,
    ) -> Result<Arc<ServedKind>, MappingError> {
        self.look_up(&Wanted::kind_in_group(group, kind)).await
    }

    /// The objects of the kind that [`find`](Self::find) finds, in a namespace or, with `None`, in
    /// the whole cluster. Of a cluster-scoped kind the namespace is left out, as kubectl does.
    ///
    /// # Errors
    /// Those of [`find`](Self::find).
    pub async fn api(
        &self,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Api<DynamicObject>, MappingError> {
        let kind = self.find(name).await?;
        Ok(self.api_of(&kind, namespace))
    }

    /// Where an object belongs: the objects of its kind, in its namespace or the client's default
    /// one.
    ///
    /// # Errors
    /// Those of [`kind`](Self::kind).
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

    /// What is known, read if nothing was read yet.
    ///
    /// # Errors
    /// It could not be read.
    pub async fn discovery(&self) -> Result<Arc<Discovery>, Arc<Error>> {
        if let Some(known) = self.inner.memory().known() {
            return Ok(known);
        }
        self.look_again(Extent::Everything).await?;
        Ok(self.inner.memory().known().unwrap_or_default())
    }

    /// Reads everything, now.
    ///
    /// # Errors
    /// It could not be read; what was known before stays.
    pub async fn refresh(&self) -> Result<Arc<Discovery>, Arc<Error>> {
        self.read(Extent::Everything).await?;
        self.discovery().await
    }

    /// Reads one group, now; `""` is the core group. To be called when a request for one of its
    /// kinds was answered 404, or when its definitions are known to have changed.
    ///
    /// # Errors
    /// It could not be read; what was known before stays.
    pub async fn refresh_group(&self, group: &str) -> Result<(), Arc<Error>> {
        // A group alone would pass for everything.
        if self.inner.memory().known().is_none() {
            return self.refresh().await.map(drop);
        }
        self.read(Extent::Group(group.to_owned())).await
    }

    async fn look_up(&self, wanted: &Wanted) -> Result<Arc<ServedKind>, MappingError> {
        let failed = |source| MappingError::Client {
            wanted: wanted.to_string(),
            source,
        };
        let found = resolve(&*self.discovery().await.map_err(failed)?, wanted);
        let extent = match &found {
            Ok(kind) if !self.inner.is_old(&kind.resource.group) => return found,
            Ok(kind) => Extent::Group(kind.resource.group.to_string()),
            Err(MappingError::Ambiguous { .. }) => return found,
            Err(_) => match &wanted.group {
                Some(group) => Extent::Group(group.clone()),
                None => Extent::Everything,
            },
        };
        let outcome = self.look_again(extent).await;
        let found = resolve(&*self.discovery().await.map_err(failed)?, wanted);
        match (found, outcome) {
            (Err(_), Err(source)) => Err(failed(source)),
            (found, _) => found,
        }
    }

    /// Reads, unless that was done just now.
    async fn look_again(&self, extent: Extent) -> Outcome {
        let begin = |number| self.inner.flight(number, extent.clone());
        let step = self
            .inner
            .memory()
            .look_again(&extent, Instant::now(), begin);
        match step {
            Step::Told(outcome) => outcome,
            Step::Wait(flight) => flight.await,
        }
    }

    /// Reads what the server says after this call.
    async fn read(&self, extent: Extent) -> Outcome {
        let earliest = self.inner.memory().next();
        loop {
            let begin = |number| self.inner.flight(number, extent.clone());
            let (number, flight) = self.inner.memory().join(&extent, begin);
            let outcome = flight.await;
            if number >= earliest {
                return outcome;
            }
        }
    }
}

impl Inner {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_old(&self, group: &str) -> bool {
        self.memory().is_old(group, Instant::now())
    }

    /// A reading: it goes on as long as anyone waits for it.
    fn flight(self: &Arc<Self>, number: u64, extent: Extent) -> Flight {
        let inner = self.clone();
        let reading = async move {
            let client = &inner.client;
            let found = match &extent {
                Extent::Everything => client.discover().await.map(Reading::Everything),
                Extent::Group(name) => client
                    .discover_group(name)
                    .await
                    .map(|group| Reading::Group(name.clone(), group)),
            };
            inner.memory().end(number, extent, found, Instant::now())
        };
        reading.boxed().shared()
    }
}
