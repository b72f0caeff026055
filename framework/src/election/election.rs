use std::{fmt, sync::Arc, time::Duration};

use k8s_openapi::api::coordination::v1::Lease;

use super::{
    ElectionError, ElectionSettings, ElectionStatus, Leading,
    lease_record::{Acquisition, LeaseRecord},
    settings::JITTER,
    term::Term,
    watchdog::{OverdueAction, Watchdog},
};
use crate::{
    backoff::Jitter,
    client::Client,
    metrics::Metrics,
    resource::{Access, AccessRule},
};

/// A candidate for a Lease. [`lead`](Self::lead) waits until this process is the leader.
///
/// It is compatible with client-go's elector (`tools/leaderelection`): the same object, the same
/// durations and the same rules.
#[must_use]
pub struct Election {
    record: LeaseRecord,
    status: ElectionStatus,
    overdue: OverdueAction,
    jitter: Jitter,
}

impl Election {
    /// Creates a candidate. It uses connections and deadlines of its own, so that other traffic of
    /// `client` cannot delay a renewal.
    ///
    /// # Errors
    /// [`ElectionError::Settings`] if the name or the namespace is not a valid DNS name, the identity is
    /// empty, or the durations contradict each other.
    pub fn new(
        client: &Client,
        settings: ElectionSettings,
        metrics: &Metrics,
    ) -> Result<Self, ElectionError> {
        settings.check()?;
        let metrics = metrics.election(&settings.name);
        Ok(Self {
            record: LeaseRecord::new(client, settings, metrics),
            status: ElectionStatus::default(),
            overdue: OverdueAction(Arc::new(|| {
                tracing::error!(
                    "work still runs although the lease can soon pass to another process: ending this process with exit code 3"
                );
                std::process::exit(EXIT_OVERDUE);
            })),
            jitter: Jitter::random(),
        })
    }

    /// Replaces the action that runs when work still runs 2 s before the lease can pass to another
    /// process. By default the process ends with exit code 3. `act` runs on its own thread. Whatever
    /// `act` does, another process may start its work after those 2 s.
    pub fn on_overdue(mut self, act: impl Fn() + Send + Sync + 'static) -> Self {
        self.overdue = OverdueAction(Arc::new(act));
        self
    }

    /// The status of the election. The returned handle shows later changes too.
    pub fn status(&self) -> ElectionStatus {
        self.status.clone()
    }

    /// The permissions that a candidate needs in the Lease's namespace: for its Lease, and to create
    /// Leases, because RBAC cannot limit that to one name. `default` is the client's default namespace; it
    /// counts if the settings name no namespace.
    pub fn access(settings: &ElectionSettings, default: &str) -> Access {
        let namespace = settings.namespace.as_deref().unwrap_or(default);
        let leases =
            |verbs: &[&str]| AccessRule::of::<Lease>(verbs.iter().copied()).in_namespace(namespace);
        Access::from(leases(&["create"])).and(leases(&["get", "update"]).named(&settings.name))
    }

    /// Waits until this process leads, without a time limit. Failures are logged and retried. Drop the
    /// future to give up.
    pub async fn lead(mut self) -> Leading {
        loop {
            match self.record.try_acquire_or_renew().await {
                Ok(Acquisition::Won { sent }) => {
                    if let Some(leading) = self.start_term(sent) {
                        return leading.begin(self.record, self.status);
                    }
                }
                Ok(Acquisition::Held { by }) => self.status.led_by(Some(&by)),
                // Two candidates wrote at the same time, and the other one succeeded.
                Err(error) if error.is_conflict() || error.is_already_exists() => {
                    tracing::debug!(lease = self.record.lease, %error, "another candidate acquired the Lease first");
                }
                Err(error) => {
                    let lease = &self.record.lease;
                    // The attempt is repeated every few seconds, so an equal error is logged only once as a warning.
                    if !self.status.record_failure(&error) {
                        tracing::debug!(lease, %error, "still cannot take part in the leader election");
                    } else {
                        tracing::warn!(lease, %error, "cannot take part in the leader election: trying again");
                    }
                }
            }
            tokio::time::sleep(self.pause()).await;
        }
    }

    fn start_term(&self, sent: Duration) -> Option<Won> {
        let settings = &self.record.settings;
        let term = Arc::new(Term::new(
            settings.clock.clock.clone(),
            sent,
            settings.renew_deadline,
            settings.lease_duration.saturating_sub(settings.margin()),
        ));
        // The response took so long that the term has already run out.
        if !term.holds() {
            return None;
        }
        match (settings.clock.start_watchdog)(term.clone(), self.overdue.clone()) {
            Ok(watchdog) => Some(Won { term, watchdog }),
            Err(error) => {
                tracing::error!(%error, "this process does not take the leadership: the watchdog thread did not start");
                None
            }
        }
    }

    /// The time until the next attempt, as in client-go: the retry period times 1 to 2.2.
    fn pause(&mut self) -> Duration {
        let period = self.record.settings.retry_period;
        self.jitter.stretched(period, JITTER)
    }
}

/// The exit code of a process whose work ran longer than its leadership.
pub(crate) const EXIT_OVERDUE: i32 = 3;

struct Won {
    term: Arc<Term>,
    watchdog: Watchdog,
}

impl Won {
    fn begin(self, record: LeaseRecord, status: ElectionStatus) -> Leading {
        status.won(&record.settings.identity);
        Leading::begin(record, self.term, status, self.watchdog)
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election")
            .field("lease", &self.record.lease)
            .field("identity", &self.record.settings.identity)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Config;

    #[test]
    fn a_candidate_needs_access_to_its_lease_where_that_is() {
        let lease_in = |namespace: &str| {
            let create = AccessRule::of::<Lease>(["create"]).in_namespace(namespace);
            let own = AccessRule::of::<Lease>(["get", "update"]).in_namespace(namespace);
            Access::from(create).and(own.named("website"))
        };
        let settings = ElectionSettings::new("website");
        assert_eq!(Election::access(&settings, "web"), lease_in("web"));
        let settings = settings.namespace("operators");
        assert_eq!(Election::access(&settings, "web"), lease_in("operators"));
    }

    #[tokio::test]
    async fn candidates_wait_a_random_time_of_1_to_2_2_retry_periods() {
        let client = Client::new(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let settings = ElectionSettings::new("website");
        let mut election = Election::new(&client, settings, &Metrics::new()).unwrap();
        let pauses: Vec<_> = (0..1000).map(|_| election.pause()).collect();
        let (least, most) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
        let milliseconds = Duration::from_millis;
        assert!(
            (milliseconds(2000)..milliseconds(2100)).contains(least),
            "{least:?}"
        );
        assert!(
            (milliseconds(4300)..=milliseconds(4400)).contains(most),
            "{most:?}"
        );
    }
}
