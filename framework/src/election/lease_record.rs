use std::{future::Future, sync::Arc, time::Duration};

use k8s_openapi::api::coordination::v1::Lease;

use super::{
    ElectionSettings,
    candidate::{Attempt, Candidate},
    clock::Clock,
};
use crate::{
    client::{Api, Client, Deadline, Deadlines, Error, ErrorKind, PostParams, role_advice},
    metrics::ElectionMetrics,
    resource::{ApiResource, ObjectKey, ObjectRef},
};

/// The Lease on the API server, and what this candidate knows about it.
pub(super) struct LeaseRecord {
    api: Api<Lease>,
    pub(super) settings: ElectionSettings,
    /// The Lease as `namespace/name`, for log lines and errors.
    pub(super) lease: String,
    namespace: String,
    pub(super) clock: Arc<dyn Clock>,
    /// For the times in the Lease. Nothing is decided by them.
    wall_clock: crate::clock::Clock,
    pub(super) metrics: ElectionMetrics,
    candidate: Candidate,
}

/// The result of an attempt that did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Acquisition {
    /// This process holds the Lease. The request that acquired or renewed it was sent at `sent`.
    Won { sent: Duration },
    /// Another candidate holds the Lease.
    Held { by: String },
}

impl LeaseRecord {
    pub(super) fn new(
        client: &Client,
        settings: ElectionSettings,
        metrics: ElectionMetrics,
    ) -> Self {
        let namespace = settings.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        let limit = settings.attempt();
        let deadlines = Deadlines::default()
            .connect(limit)
            .response(limit)
            .idle(limit)
            .total(limit);
        Self {
            api: Api::namespaced(&client.with_own_connections(deadlines), &namespace),
            lease: format!("{namespace}/{}", settings.name),
            candidate: Candidate::new(&settings),
            namespace,
            clock: settings.clock.clock.clone(),
            wall_clock: client.clock().clone(),
            settings,
            metrics,
        }
    }

    /// A reference to the Lease, with the UID that was last seen.
    pub(super) fn reference(&self) -> ObjectRef {
        let (namespace, name) = (&self.namespace, &self.settings.name);
        ObjectRef {
            uid: self.candidate.uid(),
            ..ObjectRef::new(
                ApiResource::of::<Lease>(),
                ObjectKey::namespaced(namespace, name),
            )
        }
    }

    /// Acquires the Lease, or renews it if this process holds it.
    pub(super) async fn try_acquire_or_renew(&mut self) -> Result<Acquisition, Error> {
        if let Some(renewal) = self.candidate.renewal(self.wall_clock.now()) {
            // Only this process writes a Lease that it holds, so it need not be read first.
            match self.write(Attempt::Update(renewal)).await {
                Ok(result) => return Ok(result),
                Err(error) => {
                    tracing::debug!(lease = self.lease, %error, "the renewal failed: reading the Lease and trying again");
                    self.metrics.slow_paths.inc();
                }
            }
        }
        let found = self.read().await?;
        let (now, wall) = (self.clock.now(), self.wall_clock.now());
        let attempt = self.candidate.next_attempt(found, now, wall);
        self.write(attempt).await
    }

    async fn write(&mut self, attempt: Attempt) -> Result<Acquisition, Error> {
        let params = PostParams::default();
        let sent = self.clock.now();
        let lease = match attempt {
            Attempt::Held { by } => return Ok(Acquisition::Held { by }),
            Attempt::Deleted { holder, left } => {
                tracing::info!(
                    lease = self.lease,
                    holder,
                    "the Lease was deleted while another process held it: waiting {left:?} until \
                     that process has stopped"
                );
                return Ok(Acquisition::Held { by: holder });
            }
            Attempt::Create(mut lease) => {
                lease.metadata.name = Some(self.settings.name.clone());
                self.within("create", self.api.create(&params, &lease))
                    .await?
            }
            Attempt::Update(lease) => {
                let call = self.api.replace(&self.settings.name, &params, &lease);
                self.within("replace", call).await?
            }
        };
        if self.candidate.is_held_by_another() {
            let wall = self.wall_clock.now().as_duration().as_secs_f64();
            self.metrics.expired_takeover.set(wall);
        }
        let now = self.clock.now();
        self.candidate.observe_written(lease, now);
        self.metrics
            .renewals
            .observe(now.saturating_sub(sent).as_secs_f64());
        Ok(Acquisition::Won { sent })
    }

    /// Removes this process as the holder of the Lease. Does nothing if another process holds it.
    ///
    /// Conflicts and transient errors are retried until the renew deadline has passed.
    pub(super) async fn release(&mut self) -> Result<(), Error> {
        let until = self.clock.now() + self.settings.renew_deadline;
        loop {
            let error = match self.release_once().await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            // A renewal that was still under way may have changed the Lease. Read it again.
            let pause = match error.is_conflict() {
                true => Duration::ZERO,
                false => Duration::from_millis(500),
            };
            if !(error.is_conflict() || error.is_transient()) || self.clock.now() + pause >= until {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn release_once(&mut self) -> Result<(), Error> {
        let found = self.read().await?;
        let (now, wall) = (self.clock.now(), self.wall_clock.now());
        if let Some(lease) = self.candidate.released_lease(found, now, wall) {
            let params = PostParams::default();
            let call = self.api.replace(&self.settings.name, &params, &lease);
            self.within("replace", call).await?;
        }
        Ok(())
    }

    async fn read(&self) -> Result<Option<Lease>, Error> {
        self.within("get", self.api.get_opt(&self.settings.name))
            .await
    }

    /// Ends `call` after the time for one attempt. The client has the same deadlines, but the layers
    /// that a user adds to the client run outside of them.
    async fn within<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let after = self.settings.attempt();
        let timed_out = |_| {
            Error::new(
                verb,
                format!("Lease {}", self.lease),
                ErrorKind::Timeout {
                    deadline: Deadline::Total,
                    after,
                },
            )
        };
        let result = tokio::time::timeout(after, call).await.map_err(timed_out)?;
        result.map_err(|error| self.with_missing_rule(error))
    }

    /// Adds the whole rule that an election needs if the API server refused the request.
    fn with_missing_rule(&self, error: Error) -> Error {
        let Some(status) = error.status().filter(|status| status.is_forbidden()) else {
            return error;
        };
        let kind = ApiResource::of::<Lease>();
        let (message, namespace) = (&status.message, Some(&*self.namespace));
        let verbs = ["get", "create", "update"];
        let advice = role_advice(message, namespace, &[&kind.group], &kind.plural, &verbs);
        error.with_hint(Some(advice.into()))
    }
}
