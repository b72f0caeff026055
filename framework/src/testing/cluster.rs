use std::{fmt, future::Future, panic::Location, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use pilothouse_sandbox::{BuildError, Builder, Faults, Pods, RecordedRequest, Sandbox};
use tokio::time::{Instant, timeout};

use crate::{
    client::{
        Api, Client, Config, DeleteParams, Error, Impersonation, Patch, PatchParams, PostParams,
    },
    clock::Clock,
    crd,
    health::{Outcome, Query},
    manifests::Roles,
    operator::{Operator, OperatorError, Running},
    resource::{ApiResource, Object, ObjectKey, Resource, Scope, Versions},
    webhook,
};

/// The longest wait for a condition, by tokio's clock.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The field manager that installs kinds.
const FIELD_MANAGER: &str = "testing";
/// The time between the first checks of a condition. It grows with the time that has been waited, up to
/// [`LONGEST_POLL_INTERVAL`]: otherwise a long wait on a paused clock, which costs no time, would cost thousands of checks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const LONGEST_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// An API server in memory, and a client connected to it. Clones share the server.
///
/// The client has the server's [clock](Client::clock): an operator that runs with this client writes timestamps that fit those of
/// the server. With a seed this clock starts at the beginning of 2026 and follows tokio's clock.
///
/// Its methods work in one namespace, `default` unless [`in_namespace`](Self::in_namespace) says otherwise.
#[derive(Clone)]
pub struct Cluster {
    sandbox: Sandbox,
    client: Client,
    namespace: String,
}

impl Cluster {
    /// Starts a cluster with a fixed seed, in which workloads run: the Pods of Deployments, StatefulSets and DaemonSets become ready,
    /// Jobs complete, CronJobs start Jobs, and claims are bound. [`pods`](Self::pods) says what goes wrong.
    ///
    /// # Errors
    /// [`BuildError`] outside of a tokio runtime.
    pub fn start() -> Result<Self, BuildError> {
        Self::with(Sandbox::builder().seed(1).simulator(true))
    }

    /// Starts a cluster on a sandbox with the given settings.
    ///
    /// # Errors
    /// [`BuildError`] outside of a tokio runtime.
    pub fn with(sandbox: Builder) -> Result<Self, BuildError> {
        // A condition that a panic leads to names its place, as in a program. The tests of this crate share one process, and some of them
        // compare texts without a place.
        #[cfg(not(test))]
        crate::health::keep_places();
        let sandbox = sandbox.build()?;
        let client = connected(&sandbox, None, |_| {});
        Ok(Self {
            sandbox,
            client,
            namespace: "default".into(),
        })
    }

    /// The same cluster, with methods that work in another namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            ..self.clone()
        }
    }

    /// The present time of the server and of the client.
    pub fn now(&self) -> Timestamp {
        self.client.clock().now()
    }

    /// The client that is connected to the server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The server.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The faults that the server injects.
    pub fn faults(&self) -> &Faults {
        self.sandbox.faults()
    }

    /// The rules for Pods: which fail, when, and how.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use pilothouse::testing::Cluster;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = Cluster::start()?;
    /// // The first Pod of the Job `backup` fails after a minute.
    /// cluster.pods().of("backup").times(1).fail_after(Duration::from_secs(60));
    /// // The Pods of the StatefulSet `db` never become ready.
    /// cluster.pods().of("db").never_ready();
    /// # Ok(()) }
    /// ```
    pub fn pods(&self) -> Pods<'_> {
        self.sandbox.pods()
    }

    /// The requests answered since the last [`forget_requests`](Self::forget_requests), oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.sandbox.requests()
    }

    /// As [`requests`](Self::requests), without reads: create, update, patch and delete.
    pub fn writes(&self) -> Vec<RecordedRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.method != "GET");
        requests
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.sandbox.clear_requests();
    }

    /// Installs the definition of a kind, and waits until it is served. A built-in kind needs none.
    ///
    /// # Errors
    /// [`OperatorError`] if the definition is not one that Kubernetes accepts, or if the server refuses it.
    pub async fn install<K: Resource>(&self) -> Result<(), OperatorError> {
        let mut definition = K::definition().transpose()?;
        let versions = Versions::of::<K>();
        if versions.are_converted() {
            let name = ApiResource::of::<K>().qualified_plural();
            let target = webhook::serve_in(&self.sandbox, &name, vec![versions]);
            webhook::set_target(definition.as_mut_slice(), &target);
        }
        Ok(crd::install(&self.client, definition.as_slice(), FIELD_MANAGER).await?)
    }

    /// Installs an operator's kinds, starts it, and waits until its caches are in sync. The server calls its webhooks and conversions in this
    /// process, without a socket; after the operator has stopped, requests that a webhook must admit fail.
    ///
    /// # Errors
    /// [`OperatorError`] if the operator does not start, and [`OperatorError::NotReady`] if it is not ready after 60 s by tokio's clock.
    pub async fn run(&self, operator: Operator) -> Result<Running, OperatorError> {
        let operator = operator.called_in(&self.sandbox);
        operator.install(&self.client).await?;
        ready(operator.start(self.client.clone()).await?).await
    }

    /// As [`run`](Self::run), but the operator works as its ServiceAccount, so that it may do only what `roles` allow. They are
    /// those of [`Operator::roles`]. The sandbox has to enforce them: start the cluster with a [builder](Self::with) on which
    /// [`rbac`](Builder::rbac) is on.
    ///
    /// # Errors
    /// [`OperatorError`] if the operator does not start, or if an object of the roles cannot be created.
    /// [`OperatorError::NotReady`] if it is not ready after 60 s by tokio's clock, as without a role that a cache needs.
    pub async fn run_with_roles(
        &self,
        operator: Operator,
        roles: &Roles,
    ) -> Result<Running, OperatorError> {
        let operator = operator.called_in(&self.sandbox);
        operator.install(&self.client).await?;
        let account = roles.service_account.key();
        let namespace = account.namespace().unwrap_or_default();
        if Api::<Namespace>::all(&self.client)
            .get_opt(namespace)
            .await?
            .is_none()
        {
            self.create(&Namespace::named(namespace)).await?;
        }
        self.create_in_place(std::slice::from_ref(&roles.service_account))
            .await?;
        self.create_in_place(&roles.cluster_roles).await?;
        self.create_in_place(&roles.cluster_role_bindings).await?;
        self.create_in_place(&roles.roles).await?;
        self.create_in_place(&roles.role_bindings).await?;
        let account = Impersonation::service_account(namespace, account.name());
        let client = connected(&self.sandbox, Some((namespace, account)), |_| {});
        ready(operator.start(client).await?).await
    }

    /// Creates objects, each in its own namespace.
    async fn create_in_place<K: Resource>(&self, objects: &[K]) -> Result<(), Error> {
        for object in objects {
            let api = Api::of(&self.client, ApiResource::of::<K>(), object.namespace());
            api.create(&PostParams::default(), object).await?;
        }
        Ok(())
    }

    /// The API for objects of a kind, in this namespace if the kind is namespaced.
    pub fn api<K: Resource>(&self) -> Api<K> {
        let namespace = <K::Scope as Scope>::NAMESPACED.then_some(self.namespace.as_str());
        Api::of(&self.client, ApiResource::of::<K>(), namespace)
    }

    /// Creates an object.
    ///
    /// # Errors
    /// [`Error`] if the request failed.
    pub async fn create<K: Resource>(&self, object: &K) -> Result<K, Error> {
        self.api().create(&PostParams::default(), object).await
    }

    /// Gets the object of that name. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error`] if the request failed.
    pub async fn get<K: Resource>(&self, name: &str) -> Result<Option<K>, Error> {
        self.api().get_opt(name).await
    }

    /// Merges `patch` into the object, as `kubectl patch --type=merge` does.
    ///
    /// # Errors
    /// [`Error`] if the request failed.
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
    /// [`Error`] if the request failed.
    pub async fn delete<K: Resource>(&self, name: &str) -> Result<(), Error> {
        self.api::<K>()
            .delete(name, &DeleteParams::default())
            .await
            .map(drop)
    }

    /// Waits until the object of that name exists and `holds` returns true for it. `what` completes the sentence "waited for
    /// Deployment default/web to …".
    ///
    /// # Errors
    /// [`TimedOut`] after 60 s by tokio's clock. It names the line of the call.
    #[track_caller]
    pub fn until<K: Resource>(
        &self,
        name: &str,
        what: &str,
        holds: impl Fn(&K) -> bool,
    ) -> impl Future<Output = Result<K, TimedOut>> {
        let caller = Location::caller();
        async move {
            let awaited = format!("{} to {what}", self.naming::<K>(name));
            let check = async || match self.get::<K>(name).await {
                Ok(Some(object)) if holds(&object) => Ok(object),
                Ok(Some(object)) => Err(shown(&object)),
                Ok(None) => Err("nothing of that name".into()),
                Err(error) => Err(error.to_string()),
            };
            wait(caller, &awaited, check).await
        }
    }

    /// Waits until no object of that name exists.
    ///
    /// # Errors
    /// [`TimedOut`] after 60 s by tokio's clock. It names the line of the call.
    #[track_caller]
    pub fn until_gone<K: Resource>(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<(), TimedOut>> {
        let caller = Location::caller();
        async move {
            let awaited = format!("{} to be gone", self.naming::<K>(name));
            let check = async || match self.get::<K>(name).await {
                Ok(None) => Ok(()),
                Ok(Some(object)) => Err(shown(&object)),
                Err(error) => Err(error.to_string()),
            };
            wait(caller, &awaited, check).await
        }
    }

    /// Waits until `check` returns a value. If it does not in time, the error shows what it returned last. The time between
    /// two checks is 20 ms at first, and later a tenth of the time waited, up to 250 ms.
    ///
    /// # Errors
    /// [`TimedOut`] after 60 s by tokio's clock. It names the line of the call.
    #[track_caller]
    pub fn eventually<T, F: Future<Output = Result<T, String>>>(
        &self,
        awaited: &str,
        check: impl FnMut() -> F,
    ) -> impl Future<Output = Result<T, TimedOut>> {
        wait(Location::caller(), awaited, check)
    }

    /// Waits for one second of tokio's clock. With a paused clock all tasks have finished their work then: such a clock does
    /// not advance while a task can run.
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

/// Waits for [`Cluster::eventually`] and the others, which `caller` calls. An async function does not know its caller.
async fn wait<T, F: Future<Output = Result<T, String>>>(
    caller: &'static Location<'static>,
    awaited: &str,
    mut check: impl FnMut() -> F,
) -> Result<T, TimedOut> {
    let begun = Instant::now();
    loop {
        let seen = match check().await {
            Ok(value) => return Ok(value),
            Err(seen) => seen,
        };
        let waited = begun.elapsed();
        if waited >= TIMEOUT {
            return Err(TimedOut {
                caller,
                awaited: awaited.into(),
                after: TIMEOUT,
                seen,
            });
        }
        let pause = (waited / 10).clamp(POLL_INTERVAL, LONGEST_POLL_INTERVAL);
        tokio::time::sleep(pause.min(TIMEOUT - waited)).await;
    }
}

/// The operator, once its caches have synced.
async fn ready(running: Running) -> Result<Running, OperatorError> {
    if timeout(TIMEOUT, running.synced()).await.is_ok() {
        return Ok(running);
    }
    let report = running.ready().report(&Query::default());
    let failed = report.entries().iter().filter_map(|check| {
        let Outcome::Failed(reason) = &check.outcome else {
            return None;
        };
        Some(format!("{}: {reason}", check.name))
    });
    let error = OperatorError::NotReady {
        waited: TIMEOUT,
        checks: failed.collect(),
    };
    running.stop().await;
    Err(error)
}

/// A client whose connections are pipes into the sandbox, and whose clock is that of the sandbox. It sends requests as the
/// administrator, or as a user with a default namespace.
pub(super) fn connected(
    sandbox: &Sandbox,
    user: Option<(&str, Impersonation)>,
    warned: impl Fn(&str) + Send + Sync + 'static,
) -> Client {
    let watched = sandbox.clone();
    let clock = Clock::from_fn(move || Timestamp::try_from(watched.now()).unwrap_or_default());
    let pipes = sandbox.clone();
    let connector = Arc::new(move || Ok(pipes.connect()));
    let url = http::Uri::from_static("http://sandbox");
    let mut config = Config::new(url);
    if let Some((namespace, user)) = user {
        config = config
            .with_default_namespace(namespace)
            .with_impersonation(user);
    }
    let builder = Client::builder(config).connector(connector);
    match builder.on_warning(warned).build() {
        Ok(client) => client.with_clock(clock),
        Err(error) => unreachable!("no certificate, key or user agent is given: {error}"),
    }
}

fn shown<K: Object + serde::Serialize>(object: &K) -> String {
    serde_json::to_string(object).unwrap_or_else(|error| error.to_string())
}

/// A condition did not hold in time.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}:{}: waited {} s for {awaited}; seen last: {seen}",
    .caller.file(),
    .caller.line(),
    .after.as_secs_f64()
)]
pub struct TimedOut {
    /// The line of the test that waited.
    caller: &'static Location<'static>,
    awaited: String,
    after: Duration,
    seen: String,
}

/// The text, because tests unwrap the error.
impl fmt::Debug for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_client_has_the_clock_of_the_server() {
        let cluster = Cluster::start().unwrap();
        tokio::time::sleep(Duration::from_secs(86_400)).await;
        let created = cluster.create(&ConfigMap::named("a")).await.unwrap();
        let created = created.metadata.creation_timestamp.unwrap().0;
        assert_eq!(created.to_string(), "2026-01-02T00:00:00Z");
        assert_eq!(cluster.now().as_second(), created.as_second());

        // Without a seed, both have the time of the machine.
        let cluster = Cluster::with(Sandbox::builder()).unwrap();
        let late = cluster.now().duration_since(Timestamp::now());
        assert!(late.abs().as_hours() < 1, "{late}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_wait_checks_less_and_less_often_and_ends_after_its_limit() {
        let cluster = Cluster::start().unwrap();
        let begun = Instant::now();
        let mut checks = Vec::new();
        let waited = cluster
            .eventually("nothing", || {
                checks.push(begun.elapsed().as_millis());
                async { Err::<(), _>("not yet".to_owned()) }
            })
            .await;
        let error = waited.unwrap_err().to_string();
        assert!(
            error.ends_with(": waited 60 s for nothing; seen last: not yet"),
            "{error}"
        );
        assert_eq!(begun.elapsed(), TIMEOUT);
        assert_eq!(checks[..4], [0, 20, 40, 60]);
        assert!(checks.len() < 300, "{}", checks.len());
        let slowest = checks.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(slowest <= Some(LONGEST_POLL_INTERVAL.as_millis() + 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_times_out_names_the_line_of_the_test() {
        let cluster = Cluster::start().unwrap();
        let line = line!() + 1;
        let missing = cluster.until::<ConfigMap>("a", "exist", |_| true).await;
        let text = missing.unwrap_err().to_string();
        let expected = format!(
            "{}:{line}: waited 60 s for ConfigMap default/a to exist; seen last: nothing of that name",
            file!()
        );
        assert_eq!(text, expected);

        cluster.create(&ConfigMap::named("a")).await.unwrap();
        let line = line!() + 1;
        let present = cluster.until_gone::<ConfigMap>("a").await;
        let text = present.unwrap_err().to_string();
        let expected = format!("{}:{line}: waited 60 s for ConfigMap", file!());
        assert!(text.starts_with(&expected), "{text}");

        // Also if the future is awaited elsewhere.
        let line = line!() + 1;
        let never = cluster.eventually("it", async || Err::<(), _>("no".into()));
        let text = never.await.unwrap_err().to_string();
        assert!(text.starts_with(&format!("{}:{line}: ", file!())), "{text}");
    }
}
