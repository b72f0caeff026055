use std::{fmt, future::Future, sync::Arc, time::Duration};

use pilothouse_sandbox::{BuildError, Builder, Faults, RecordedRequest, Sandbox};
use tokio::time::Instant;

use super::Late;
use crate::{
    client::{Api, Client, Config, DeleteParams, Error, Patch, PatchParams, PostParams},
    crd,
    operator::{Operator, OperatorError, Running},
    resource::{ApiResource, Object, ObjectKey, Resource, Scope},
};

/// How long a condition is waited for, by tokio's clock.
const PATIENCE: Duration = Duration::from_secs(60);
/// Who installs kinds.
const FIELD_MANAGER: &str = "testing";
/// How often it is looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// An API server in memory, and a client connected to it. Clones share the server.
///
/// Its methods work in one namespace, `default` unless [`in_namespace`](Self::in_namespace) says otherwise.
#[derive(Clone)]
pub struct Cluster {
    sandbox: Sandbox,
    client: Client,
    namespace: String,
}

impl Cluster {
    /// A cluster with a fixed seed, in which workloads become ready.
    ///
    /// # Errors
    /// Outside of a tokio runtime.
    pub fn start() -> Result<Self, BuildError> {
        Self::with(Sandbox::builder().seed(1).simulator(true))
    }

    /// A cluster on a sandbox of one's own making.
    ///
    /// # Errors
    /// Outside of a tokio runtime.
    pub fn with(sandbox: Builder) -> Result<Self, BuildError> {
        let sandbox = sandbox.build()?;
        let client = connected(&sandbox);
        Ok(Self {
            sandbox,
            client,
            namespace: "default".into(),
        })
    }

    /// The same cluster, seen in another namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            ..self.clone()
        }
    }

    /// A client of its server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The server.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Faults to inject into the server.
    pub fn faults(&self) -> &Faults {
        self.sandbox.faults()
    }

    /// The requests answered since the last [`forget_requests`](Self::forget_requests), oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.sandbox.requests()
    }

    /// The requests among them that change something: create, update, patch, delete.
    pub fn writes(&self) -> Vec<RecordedRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.method != "GET");
        requests
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.sandbox.clear_requests();
    }

    /// Installs the definition of a kind, and waits until it is served. A kind that is the API server's own needs none.
    ///
    /// # Errors
    /// The kind has no definition that Kubernetes accepts, or the server refuses it.
    pub async fn install<K: Resource>(&self) -> Result<(), OperatorError> {
        let definition = K::definition().transpose()?;
        Ok(crd::install(&self.client, definition.as_slice(), FIELD_MANAGER).await?)
    }

    /// Installs an operator's kinds, starts it, and waits until its caches are in sync.
    ///
    /// # Errors
    /// The operator's, at its start.
    pub async fn run(&self, operator: Operator) -> Result<Running, OperatorError> {
        operator.install(&self.client).await?;
        let running = operator.start(self.client.clone()).await?;
        running.synced().await;
        Ok(running)
    }

    /// The objects of a kind, in this namespace where the kind has one.
    pub fn api<K: Resource>(&self) -> Api<K> {
        let namespace = <K::Scope as Scope>::NAMESPACED.then_some(self.namespace.as_str());
        Api::of(&self.client, ApiResource::of::<K>(), namespace)
    }

    /// Creates an object.
    ///
    /// # Errors
    /// The server's.
    pub async fn create<K: Resource>(&self, object: &K) -> Result<K, Error> {
        self.api().create(&PostParams::default(), object).await
    }

    /// The object of that name, if there is one.
    ///
    /// # Errors
    /// The server's.
    pub async fn get<K: Resource>(&self, name: &str) -> Result<Option<K>, Error> {
        self.api().get_opt(name).await
    }

    /// Merges `patch` into the object, the way `kubectl patch --type=merge` does.
    ///
    /// # Errors
    /// The server's.
    pub async fn patch<K: Resource>(
        &self,
        name: &str,
        patch: serde_json::Value,
    ) -> Result<K, Error> {
        self.api()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
    }

    /// Deletes the object.
    ///
    /// # Errors
    /// The server's.
    pub async fn delete<K: Resource>(&self, name: &str) -> Result<(), Error> {
        self.api::<K>()
            .delete(name, &DeleteParams::default())
            .await
            .map(drop)
    }

    /// Waits until the object of that name exists and `holds` of it. `what` completes the sentence "waited for
    /// Deployment default/web to …".
    ///
    /// # Errors
    /// [`Late`] after 60 s by tokio's clock.
    pub async fn until<K: Resource>(
        &self,
        name: &str,
        what: &str,
        holds: impl Fn(&K) -> bool,
    ) -> Result<K, Late> {
        let awaited = format!("{} to {what}", self.naming::<K>(name));
        self.eventually(&awaited, async || match self.get::<K>(name).await {
            Ok(Some(object)) if holds(&object) => Ok(object),
            Ok(Some(object)) => Err(shown(&object)),
            Ok(None) => Err("nothing of that name".into()),
            Err(error) => Err(error.to_string()),
        })
        .await
    }

    /// Waits until no object of that name exists.
    ///
    /// # Errors
    /// [`Late`] after 60 s by tokio's clock.
    pub async fn until_gone<K: Resource>(&self, name: &str) -> Result<(), Late> {
        let awaited = format!("{} to be gone", self.naming::<K>(name));
        self.eventually(&awaited, async || match self.get::<K>(name).await {
            Ok(None) => Ok(()),
            Ok(Some(object)) => Err(shown(&object)),
            Err(error) => Err(error.to_string()),
        })
        .await
    }

    /// Waits until `glance` gives a value; what it gives instead is told when it never does.
    ///
    /// # Errors
    /// [`Late`] after 60 s by tokio's clock.
    pub async fn eventually<T, F: Future<Output = Result<T, String>>>(
        &self,
        awaited: &str,
        mut glance: impl FnMut() -> F,
    ) -> Result<T, Late> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let seen = match glance().await {
                Ok(value) => return Ok(value),
                Err(seen) => seen,
            };
            if Instant::now() >= deadline {
                return Err(Late {
                    awaited: awaited.into(),
                    after: PATIENCE,
                    seen,
                });
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Waits until everything that was begun is done and nothing happens for a second of tokio's clock.
    /// It says so only of a paused clock, which stands still while anything is to be done.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    /// Stops the server and waits for its connections.
    pub async fn stop(self) {
        self.sandbox.shutdown().await;
    }

    fn naming<K: Resource>(&self, name: &str) -> String {
        let namespace = <K::Scope as Scope>::NAMESPACED.then_some(self.namespace.as_str());
        format!("{} {}", K::KIND, ObjectKey::new(namespace, name))
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// A client whose streams are pipes into the sandbox.
fn connected(sandbox: &Sandbox) -> Client {
    let pipes = sandbox.clone();
    let connector = Arc::new(move || Ok(pipes.connect()));
    let url = http::Uri::from_static("http://sandbox");
    match Client::builder(Config::new(url))
        .connector(connector)
        .build()
    {
        Ok(client) => client,
        Err(error) => unreachable!("no certificate, key or user agent is given: {error}"),
    }
}

fn shown<K: Object + serde::Serialize>(object: &K) -> String {
    serde_json::to_string(object).unwrap_or_else(|error| error.to_string())
}
