use std::{future::Future, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;

use super::{
    ElectionSettings,
    candidate::{Attempt, Candidate},
    clock::Clock,
};
use crate::{
    client::{Api, Client, Deadline, Deadlines, Error, PostParams},
    metrics::ElectionMetrics,
    resource::{ApiResource, ObjectKey, ObjectRef},
};

/// The Lease on the server, and what this candidate knows of it.
pub(super) struct Ballot {
    api: Api<Lease>,
    pub(super) settings: ElectionSettings,
    /// `namespace/name`.
    pub(super) lease: String,
    namespace: String,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: ElectionMetrics,
    candidate: Candidate,
}

/// How an attempt ended that did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Vote {
    /// The Lease is ours by a request that was sent at this time.
    Won { sent: Duration },
    /// Somebody else holds it.
    Held { by: String },
}

impl Ballot {
    pub(super) fn new(
        client: &Client,
        settings: ElectionSettings,
        clock: Arc<dyn Clock>,
        metrics: ElectionMetrics,
    ) -> Self {
        let namespace = settings.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        let limit = settings.attempt();
        let deadlines = Deadlines::default()
            .connect(limit)
            .answer(limit)
            .idle(limit)
            .total(limit);
        Self {
            api: Api::namespaced(&client.apart(deadlines), &namespace),
            lease: format!("{namespace}/{}", settings.name),
            candidate: Candidate::new(&settings),
            namespace,
            settings,
            clock,
            metrics,
        }
    }

    /// The Lease as last seen.
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

    /// Becomes leader, or stays it.
    pub(super) async fn cast(&mut self) -> Result<Vote, Error> {
        if let Some(renewal) = self.candidate.renewal(Timestamp::now()) {
            // Nobody but us writes a Lease that is ours: no need to read it first.
            match self.claim(Attempt::Update(renewal)).await {
                Ok(vote) => return Ok(vote),
                Err(error) => {
                    tracing::debug!(lease = self.lease, %error, "the lease has to be read first");
                    self.metrics.slow_paths.inc();
                }
            }
        }
        let found = self.read().await?;
        let (now, wall) = (self.clock.now(), Timestamp::now());
        let attempt = self.candidate.found(found, now, wall);
        self.claim(attempt).await
    }

    async fn claim(&mut self, attempt: Attempt) -> Result<Vote, Error> {
        let params = PostParams::default();
        let sent = self.clock.now();
        let lease = match attempt {
            Attempt::Held { by } => return Ok(Vote::Held { by }),
            Attempt::Deleted { holder, left } => {
                tracing::info!(
                    lease = self.lease,
                    holder,
                    "the Lease was deleted while another process held it: waiting {left:?} until \
                     that one has stopped"
                );
                return Ok(Vote::Held { by: holder });
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
        let now = self.clock.now();
        self.candidate.claimed(lease, now);
        self.metrics
            .renewals
            .observe(now.saturating_sub(sent).as_secs_f64());
        Ok(Vote::Won { sent })
    }

    /// Gives the Lease back if it is ours; tries as long as the renew deadline allows.
    pub(super) async fn give_back(&mut self) -> Result<(), Error> {
        let until = self.clock.now() + self.settings.renew_deadline;
        loop {
            let error = match self.give_back_once().await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            // A renewal that was under way may have come between: then it is looked at again.
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

    async fn give_back_once(&mut self) -> Result<(), Error> {
        let found = self.read().await?;
        let (now, wall) = (self.clock.now(), Timestamp::now());
        if let Some(lease) = self.candidate.given_back(found, now, wall) {
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

    /// The client's deadlines are the same, but layers of the user's stand outside of them.
    async fn within<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let after = self.settings.attempt();
        let timed_out = |_| Error::Timeout {
            verb,
            target: format!("Lease {}", self.lease),
            deadline: Deadline::Total,
            after,
        };
        tokio::time::timeout(after, call).await.map_err(timed_out)?
    }
}
