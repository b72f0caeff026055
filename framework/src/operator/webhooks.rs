use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf, time::Duration};

use futures_util::FutureExt;
#[cfg(feature = "dev")]
use tokio::time::timeout;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Operator, OperatorError, shutdown_cause::ShutdownCause};
#[cfg(feature = "dev")]
use crate::webhook::InProcess;
use crate::{
    client::Client,
    controller::RuntimeKind,
    health::Checks,
    metrics::Metrics,
    resource::{Access, ApiResource, Resource, Versions},
    server::Address,
    webhook::{Mutate, ReadCaches, Target, Validate, Webhook, WebhookOptions, WebhookServer},
};

/// The name of the readiness check.
pub(super) const WEBHOOKS_CHECK: &str = "webhooks";

/// The address of an operator that says nothing else.
const ADDRESS: Address = Address {
    host: None,
    port: 9443,
};

/// The pause between two looks at the Secret and at the configurations.
const CHECK_PERIOD: Duration = Duration::from_secs(5 * 60);
/// All replicas must have seen a new authority before it signs anything, which is an hour later.
const LONGEST_CHECK_PERIOD: Duration = Duration::from_secs(10 * 60);

/// The longest time, by tokio's clock, until an operator is ready whose API server is in the same process.
#[cfg(feature = "dev")]
const LONGEST_START: Duration = Duration::from_secs(60);

/// How long webhooks go on answering after the stop has begun, at least. By then no API server chooses this pod any more.
const DRAIN: Duration = Duration::from_secs(5);
/// The time for the server to end after the last call has got its answer.
const LAST_ANSWER: Duration = Duration::from_millis(250);
/// The time by which the webhooks must have ended, counted from the start of the stop.
const DEADLINE: Duration = Duration::from_millis(28_900);

/// How the webhooks of an operator are served. The default is HTTPS at `:9443`, behind the Service that `manifests` prints, with
/// certificates that the replicas make themselves and share by a Secret.
///
/// ```
/// # use pilothouse::operator::{Operator, WebhookServing};
/// let serving = WebhookServing::new().certificates("/certs");
/// let operator = Operator::new("website").webhook_serving(serving);
/// # drop(operator);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct WebhookServing {
    pub(super) address: Address,
    pub(super) certificates: Option<PathBuf>,
    pub(super) url: Option<String>,
    pub(super) check_period: Duration,
}

impl Default for WebhookServing {
    fn default() -> Self {
        Self {
            address: ADDRESS,
            certificates: None,
            url: None,
            check_period: CHECK_PERIOD,
        }
    }
}

impl WebhookServing {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the address to listen on.
    pub fn address(mut self, address: Address) -> Self {
        self.address = address;
        self
    }

    /// Uses the certificate `tls.crt` and the key `tls.key` of this folder, such as a Secret of cert-manager that is mounted. A
    /// change is noticed within 10 s. If there is a `ca.crt`, the webhook configurations get it, and keep an old one for an hour; if
    /// not, something else has to write their `caBundle`.
    pub fn certificates(mut self, folder: impl Into<PathBuf>) -> Self {
        self.certificates = Some(folder.into());
        self
    }

    /// Lets the API server call the webhooks at this URL, such as `https://192.0.2.1:9443`, in place of a Service. It is for
    /// operators that run outside of the cluster.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Sets how often a replica looks at the Secret with the certificates and at the webhook configurations, and mends what is
    /// due. The default is 5 minutes; more than 10 count as 10, and less than one second as one.
    pub fn check_every(mut self, period: Duration) -> Self {
        self.check_period = period.clamp(Duration::from_secs(1), LONGEST_CHECK_PERIOD);
        self
    }
}

impl Operator {
    /// Adds a validation: the API server asks it before it stores a change. See [`webhook`](crate::webhook).
    ///
    /// Every replica answers, whether it leads or not.
    pub fn validates<V: Validate<Resource: Resource>>(self, validate: V) -> Self {
        let resource = ApiResource::of::<V::Resource>();
        self.with_webhook(Webhook::validating(resource, validate))
    }

    /// Adds a mutation: the API server lets it change an object before it is stored. See [`webhook`](crate::webhook).
    pub fn mutates<M: Mutate<Resource: Resource>>(self, mutate: M) -> Self {
        let resource = ApiResource::of::<M::Resource>();
        self.with_webhook(Webhook::mutating(resource, mutate))
    }

    /// As [`validates`](Self::validates), for a kind that is known only at run time. Its objects are
    /// [`DynamicObject`](crate::resource::DynamicObject)s or [`PartialObject`](crate::resource::PartialObject)s.
    pub fn dynamic_validates<V: Validate<Resource: RuntimeKind>>(
        self,
        resource: ApiResource,
        validate: V,
    ) -> Self {
        self.with_webhook(Webhook::validating(resource, validate))
    }

    /// As [`mutates`](Self::mutates), for a kind that is known only at run time.
    pub fn dynamic_mutates<M: Mutate<Resource: RuntimeKind>>(
        self,
        resource: ApiResource,
        mutate: M,
    ) -> Self {
        self.with_webhook(Webhook::mutating(resource, mutate))
    }

    /// Sets how the webhooks are served. The flags `--webhook-address`, `--webhook-certificate-dir` and `--webhook-url` have
    /// priority.
    pub fn webhook_serving(mut self, serving: WebhookServing) -> Self {
        self.webhook_serving = serving;
        self
    }

    fn with_webhook(mut self, webhook: Webhook) -> Self {
        self.webhooks.push(webhook);
        self
    }

    /// Checks that the webhooks can be served and configured.
    pub(super) fn check_webhooks(&self) -> Result<(), OperatorError> {
        for (number, webhook) in self.webhooks.iter().enumerate() {
            let path = webhook.path();
            let refused = |problem| OperatorError::Webhook {
                path: path.clone(),
                problem,
            };
            webhook.check().map_err(refused)?;
            let mut before = self.webhooks.iter().take(number);
            if before.any(|other| other.path() == path || other.name() == webhook.name()) {
                let problem = "the program has two of them for the kind: give one another name with `rules.named(\"..\")` in `rules`";
                return Err(refused(problem.into()));
            }
        }
        Ok(())
    }

    /// What the user should know about the webhooks, if the pods are in `namespace` and the operator works in `namespaces`.
    pub(super) fn webhook_notes(
        webhooks: &[Webhook],
        namespace: &str,
        namespaces: &BTreeSet<String>,
    ) -> Vec<String> {
        let never = webhooks
            .iter()
            .filter(|one| one.is_never_called(namespace, namespaces));
        let never = never.map(|one| {
            format!(
                "the webhook {} is never called: the operator works only in its own namespace, and that is left out so that the operator can start; \
                 choose the objects with `Rules::in_namespaces` in `rules`",
                one.name()
            )
        });
        let others = webhooks.iter().filter_map(|one| {
            Some(format!(
                "if the request alone decides, {} does without the webhook {} and also works while no replica runs; `rules.needs_code()` in \
                 `rules` declares that it needs code",
                one.alternative()?,
                one.name()
            ))
        });
        never.chain(others).collect()
    }

    /// The Secret in which the operator keeps the certificates that it makes for webhooks, if it is run so.
    pub(super) fn webhook_secret(&self, serving: Option<&WebhookServing>) -> Option<String> {
        let makes = serving.is_none_or(|serving| serving.certificates.is_none());
        (makes && self.has_webhooks()).then(|| WebhookOptions::secret(&self.name))
    }

    /// Whether the API server calls the operator: for admission or for conversions.
    pub(super) fn has_webhooks(&self) -> bool {
        !self.webhooks.is_empty() || !self.served_conversions().is_empty()
    }

    /// The kinds whose objects the operator converts, each once.
    pub(crate) fn conversions(&self) -> Vec<Versions> {
        let mut names = BTreeSet::new();
        let kinds = self.registered.iter().filter_map(|one| one.versions());
        kinds
            .filter(|kind| names.insert(kind.stored().qualified_plural()))
            .collect()
    }

    /// The kinds whose objects it converts for an API server outside of this process.
    pub(super) fn served_conversions(&self) -> Vec<Versions> {
        match self.conversion_target {
            Some(_) => Vec::new(),
            None => self.conversions(),
        }
    }

    /// Lets an API server in this process convert the objects and call the webhooks.
    #[cfg(feature = "dev")]
    pub(crate) fn called_in(mut self, sandbox: &pilothouse_sandbox::Sandbox) -> Self {
        self.called_in = Some(sandbox.clone());
        self.converts_in(sandbox)
    }

    /// Lets an API server in this process convert the objects.
    #[cfg(feature = "dev")]
    pub(crate) fn converts_in(mut self, sandbox: &pilothouse_sandbox::Sandbox) -> Self {
        let kinds = self.conversions();
        if !kinds.is_empty() {
            self.conversion_target = Some(crate::webhook::serve_in(sandbox, &self.name, kinds));
        }
        self
    }

    /// Where the API server converts objects, as far as it is known before the operator runs.
    pub(super) fn conversion_target(&self) -> Target {
        let url = self.webhook_serving.url.clone().map(Target::Url);
        let target = self.conversion_target.clone().or(url);
        let namespace = || format!("{}-system", self.name);
        target.unwrap_or_else(|| Target::service_of(&self.name, &namespace()))
    }

    /// What files with the printed manifests of the operator must not install again.
    #[cfg(feature = "dev")]
    pub(super) fn own_parts(
        &self,
        definitions: &[crate::crd::CustomResourceDefinition],
    ) -> super::dev::OwnParts {
        super::dev::OwnParts {
            definitions: definitions.to_vec(),
            webhooks: self.webhooks.iter().map(Webhook::name).collect(),
        }
    }

    /// What the webhooks need. `None` without webhooks.
    pub(super) fn webhook_options(&self, namespace: &str) -> Option<WebhookOptions> {
        let serving = &self.webhook_serving;
        self.has_webhooks().then(|| WebhookOptions {
            operator: self.name.clone(),
            namespace: namespace.to_owned(),
            namespaces: self.namespaces.clone(),
            webhooks: self.webhooks.clone(),
            conversions: self.served_conversions(),
            address: serving.address,
            certificates: serving.certificates.clone(),
            url: serving.url.clone(),
            check_period: serving.check_period,
            caches: ReadCaches::default(),
            #[cfg(feature = "dev")]
            called_in: self.called_in.clone(),
        })
    }
}

/// The webhooks of a running operator.
pub(super) struct RunningWebhooks {
    /// `None` if an API server in this process calls them.
    pub(super) address: Option<SocketAddr>,
    pub(super) access: Access,
    /// Whether an API server may still choose this process after its stop has begun, because a Service or another proxy leads
    /// to it.
    drains: bool,
    /// The longest time that a call may take.
    longest_call: Duration,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl RunningWebhooks {
    /// Binds the address, makes the certificate and the configurations ready, and serves. It returns when the API server can
    /// call the webhooks.
    pub(super) async fn start(
        options: WebhookOptions,
        client: &Client,
        metrics: &Metrics,
        ready: &Checks,
        shutdown_cause: &ShutdownCause,
        stopping: CancellationToken,
        stop: CancellationToken,
    ) -> Result<Self, OperatorError> {
        #[cfg(feature = "dev")]
        if let Some(sandbox) = options.called_in.clone() {
            return Self::start_in(&sandbox, options, client, metrics, ready, stop).await;
        }
        let (address, access) = (options.address, options.access());
        let longest_call = options.longest_call();
        // A URL with the port 0 leads to this process only.
        let drains = !options.url.as_ref().is_some_and(|url| url.ends_with(":0"));
        let failed = |source| OperatorError::ListenWebhooks { address, source };
        let server = WebhookServer::bind(options, client, metrics, stopping).await;
        let server = server
            .map_err(failed)?
            .map_err(|error| OperatorError::Webhooks(error.to_string()))?;
        let address = server.local_addr().map_err(failed)?;
        let health = server.health();
        ready.add(WEBHOOKS_CHECK, move || health.check());
        let prepared = server.prepare().await;
        let tasks = TaskTracker::new();
        let served = prepared.run(stop.clone()).boxed();
        // The tracker joins the task.
        drop(shutdown_cause.spawn(&tasks, "webhooks", "webhooks", served));
        tasks.close();
        tracing::info!("webhooks on https://{address}");
        Ok(Self {
            address: Some(address),
            access,
            drains,
            longest_call,
            stop,
            tasks,
        })
    }

    /// Lets the API server of this process call the webhooks until `stop`. It returns when they are configured, or after
    /// [`LONGEST_START`].
    #[cfg(feature = "dev")]
    async fn start_in(
        sandbox: &pilothouse_sandbox::Sandbox,
        options: WebhookOptions,
        client: &Client,
        metrics: &Metrics,
        ready: &Checks,
        stop: CancellationToken,
    ) -> Result<Self, OperatorError> {
        let (access, longest_call) = (options.access(), options.longest_call());
        let webhooks = InProcess::new(sandbox, options, client, metrics);
        let health = webhooks.health();
        let shown = health.clone();
        ready.add(WEBHOOKS_CHECK, move || shown.check());
        let called = timeout(LONGEST_START, webhooks.prepare()).await;
        let called = called.map_err(|_| OperatorError::NotReady {
            waited: LONGEST_START,
            checks: Vec::from_iter(
                health
                    .check()
                    .err()
                    .map(|why| format!("{WEBHOOKS_CHECK}: {why}")),
            ),
        })?;
        let (tasks, stopped) = (TaskTracker::new(), stop.clone());
        tasks.spawn(async move {
            stopped.cancelled().await;
            drop(called);
        });
        tasks.close();
        Ok(Self {
            address: None,
            access,
            drains: false,
            longest_call,
            stop,
            tasks,
        })
    }

    /// Ends the webhooks of an operator whose stop began at `begun`. They go on answering until no API server chooses this process any
    /// more, and until the work has ended, because it may write what the webhooks admit. But they end so early that each call which has
    /// come by then can take its time.
    pub(super) async fn finish(self, begun: Instant, work_ended: &CancellationToken) {
        let needed = async {
            if self.drains {
                sleep_until(begun + DRAIN).await;
            }
            work_ended.cancelled().await;
        };
        let last_calls = self.longest_call + LAST_ANSWER;
        let latest = begun + DEADLINE.saturating_sub(last_calls).max(DRAIN);
        // Losing the wait for the work loses nothing.
        let _ = timeout_at(latest, needed).await;
        self.stop.cancel();
        let limit = (Instant::now() + last_calls).min(begun + DEADLINE);
        if timeout_at(limit, self.tasks.wait()).await.is_err() {
            tracing::warn!("some calls of webhooks have not ended in time");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    /// Webhooks whose server ends with its only call, which comes last and takes this long.
    fn running(longest_call: Duration, drains: bool) -> (RunningWebhooks, CancellationToken) {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let (stopped, answered) = (stop.clone(), CancellationToken::new());
        let answer = answered.clone();
        tasks.spawn(async move {
            stopped.cancelled().await;
            sleep(longest_call).await;
            answer.cancel();
        });
        tasks.close();
        let webhooks = RunningWebhooks {
            address: None,
            access: Access::none(),
            drains,
            longest_call,
            stop,
            tasks,
        };
        (webhooks, answered)
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_calls_of_a_stop_get_their_whole_time() {
        let seconds = Duration::from_secs;
        // How long the work takes, how long a call may take, and when webhooks have ended.
        for (work, call, end) in [
            (seconds(0), seconds(10), 15_000),
            (seconds(12), seconds(10), 22_000),
            // The work would take too long for the last call.
            (seconds(25), seconds(10), 28_650),
            (seconds(25), Duration::from_millis(24_500), 28_900),
        ] {
            let (webhooks, answered) = running(call, true);
            let (begun, work_ended) = (Instant::now(), CancellationToken::new());
            let working = async {
                sleep(work).await;
                work_ended.cancel();
            };
            tokio::join!(webhooks.finish(begun, &work_ended), async {
                tokio::time::timeout(seconds(60), working).await.unwrap();
            });
            // Only a call that may take longer than 23.9 s is cut, because the webhooks answer for 5 s in any case.
            assert_eq!(
                answered.is_cancelled(),
                call <= seconds(23),
                "{work:?} {call:?}"
            );
            assert_eq!(begun.elapsed(), Duration::from_millis(end));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn webhooks_without_a_proxy_end_with_the_work() {
        let (webhooks, answered) = running(Duration::from_secs(1), false);
        let (begun, work_ended) = (Instant::now(), CancellationToken::new());
        work_ended.cancel();
        webhooks.finish(begun, &work_ended).await;
        assert!(answered.is_cancelled());
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
    }
}
