use std::{fmt, sync::Arc, time::Duration};

use k8s_openapi::api::coordination::v1::Lease;

use super::{
    ElectionError, ElectionSettings, ElectionStatus, Leading,
    ballot::{Ballot, Vote},
    clock::{Clock, SystemClock},
    settings::JITTER,
    term::Term,
    watchman::{Overdue, Watchman},
};
use crate::{
    client::Client,
    metrics::Metrics,
    queue::Jitter,
    resource::{Access, AccessRule},
};

/// A candidate for a Lease: [`lead`](Self::lead) waits until it is the leader.
///
/// It understands itself with client-go's elector (`tools/leaderelection`): the same object, times
/// and rules.
#[must_use]
pub struct Election {
    ballot: Ballot,
    status: ElectionStatus,
    overdue: Overdue,
    jitter: Jitter,
    post: fn(Arc<Term>, Overdue) -> std::io::Result<Watchman>,
}

impl Election {
    /// A candidate on connections and with deadlines of its own, so that no other traffic of
    /// `client` can delay a renewal.
    ///
    /// # Errors
    /// The settings are wrong: names that DNS does not know, or times that contradict each other.
    pub fn new(
        client: &Client,
        settings: ElectionSettings,
        metrics: &Metrics,
    ) -> Result<Self, ElectionError> {
        Self::with_clock(client, settings, metrics, Arc::new(SystemClock))
    }

    fn with_clock(
        client: &Client,
        settings: ElectionSettings,
        metrics: &Metrics,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ElectionError> {
        settings.check()?;
        let metrics = metrics.election(&settings.name);
        Ok(Self {
            ballot: Ballot::new(client, settings, clock, metrics),
            status: ElectionStatus::default(),
            overdue: Overdue(Arc::new(|| {
                tracing::error!("work still runs although the lease can pass to another: exit 3");
                std::process::exit(EXIT_OVERDUE);
            })),
            jitter: Jitter::random(),
            post: Watchman::post,
        })
    }

    /// A candidate on tokio's clock.
    #[cfg(test)]
    pub(crate) fn on_the_tests_clock(
        client: &Client,
        settings: ElectionSettings,
        metrics: &Metrics,
    ) -> Result<Self, ElectionError> {
        let clock = Arc::new(super::clock::TokioClock::new());
        let mut election = Self::with_clock(client, settings, metrics, clock)?;
        election.post = |term, overdue| Ok(Watchman::on_the_tests_clock(term, overdue));
        Ok(election)
    }

    /// What happens, on a thread of its own, when work still runs 2 s before the lease can pass to
    /// another, instead of the end of the process with exit code 3. Whatever it is: others begin then.
    pub fn on_overdue(mut self, act: impl Fn() + Send + Sync + 'static) -> Self {
        self.overdue = Overdue(Arc::new(act));
        self
    }

    /// How it is doing, now and later.
    pub fn status(&self) -> ElectionStatus {
        self.status.clone()
    }

    /// What a candidate has to be allowed to do, in the Lease's namespace; `default` is that of the client.
    pub fn access(settings: &ElectionSettings, default: &str) -> Access {
        let namespace = settings.namespace.as_deref().unwrap_or(default);
        let rule = AccessRule::of::<Lease>(["get", "create", "update"]);
        rule.in_namespace(namespace).into()
    }

    /// Waits until this process leads, for as long as it takes. Failures are logged and tried
    /// again; dropping the future gives up.
    pub async fn lead(mut self) -> Leading {
        loop {
            match self.ballot.cast().await {
                Ok(Vote::Won { sent }) => {
                    if let Some(leading) = self.begin(sent) {
                        return leading.begin(self.ballot, self.status);
                    }
                }
                Ok(Vote::Held { by }) => self.status.led_by(Some(&by)),
                // Two were after the same: one of them got it.
                Err(error) if error.is_conflict() || error.is_already_exists() => {
                    tracing::debug!(lease = self.ballot.lease, %error, "another was faster");
                }
                Err(error) => {
                    let lease = &self.ballot.lease;
                    // It is tried again every few seconds.
                    if !self.status.troubled(&error) {
                        tracing::debug!(lease, %error, "still cannot take part in the election");
                    } else if error.is_forbidden() {
                        tracing::warn!(
                            lease,
                            %error,
                            "cannot take part in the election: a Role has to allow get, create and \
                             update of leases.coordination.k8s.io there"
                        );
                    } else {
                        tracing::warn!(lease, %error, "cannot take part in the election");
                    }
                }
            }
            tokio::time::sleep(self.pause()).await;
        }
    }

    fn begin(&self, sent: Duration) -> Option<Won> {
        let settings = &self.ballot.settings;
        let term = Arc::new(Term::new(
            self.ballot.clock.clone(),
            sent,
            settings.renew_deadline,
            settings.lease_duration.saturating_sub(settings.margin()),
        ));
        // The answer took too long: what it says is old.
        if !term.holds() {
            return None;
        }
        match (self.post)(term.clone(), self.overdue.clone()) {
            Ok(watchman) => Some(Won { term, watchman }),
            Err(error) => {
                tracing::error!(%error, "leadership is not taken: no thread could be started to watch it");
                None
            }
        }
    }

    /// As client-go: the retry period times 1 to 2.2.
    fn pause(&mut self) -> Duration {
        let period = self.ballot.settings.retry_period;
        period + period.mul_f64(JITTER * self.jitter.fraction())
    }
}

/// The exit code of a process whose work outlived its leadership.
pub(crate) const EXIT_OVERDUE: i32 = 3;

struct Won {
    term: Arc<Term>,
    watchman: Watchman,
}

impl Won {
    fn begin(self, ballot: Ballot, status: ElectionStatus) -> Leading {
        status.won(&ballot.settings.identity);
        Leading::begin(ballot, self.term, status, self.watchman)
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election")
            .field("lease", &self.ballot.lease)
            .field("identity", &self.ballot.settings.identity)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Config;

    #[tokio::test]
    async fn candidates_wait_between_one_and_two_point_two_retry_periods_at_random() {
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
