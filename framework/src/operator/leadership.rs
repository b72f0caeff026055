use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{OperatorError, readiness::Readiness, trouble::Trouble};
use crate::{
    client::{Client, Deadlines},
    election::{Election, ElectionError, ElectionSettings, ElectionStatus, Leading, Phase, Turn},
    events::{Event, Recorder},
    health::Checks,
    metrics::Metrics,
    resource::{Access, ObjectRef},
};

/// How long the Event that leadership was lost may take.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// An operator's part in an election: until it leads its caches fill, then its work begins, and when the work has
/// ended the lease is given back.
pub(super) struct Leadership {
    pub(super) turn: Turn,
    pub(super) status: ElectionStatus,
    pub(super) access: Access,
    identity: String,
    lease: String,
    election: Option<Election>,
    /// Records that leadership was lost. The other recorder is fenced and says nothing more then.
    last_words: Recorder,
    /// The Lease, once it was won.
    won: Arc<OnceLock<ObjectRef>>,
    lost: CancellationToken,
    release: CancellationToken,
    task: Option<JoinHandle<()>>,
}

/// What leadership is about.
pub(super) struct Led {
    pub(super) readiness: Readiness,
    pub(super) events: Recorder,
    pub(super) trouble: Trouble,
    /// All work that may run only while this process leads; closed.
    pub(super) work: TaskTracker,
    pub(super) closing: CancellationToken,
    pub(super) abort: CancellationToken,
    /// The operator was dropped.
    pub(super) all: CancellationToken,
}

impl Leadership {
    pub(super) fn new(
        client: &Client,
        settings: ElectionSettings,
        metrics: &Metrics,
        operator: &str,
    ) -> Result<Self, ElectionError> {
        let apart = client.apart(Deadlines::default());
        let last_words = Recorder::with_metrics(&apart, operator, metrics.events());
        let (identity, namespace) = (settings.identity.clone(), client.default_namespace());
        let access = Election::access(&settings, namespace);
        let namespace = settings.namespace.as_deref().unwrap_or(namespace);
        let lease = format!("{namespace}/{}", settings.name);
        #[cfg(not(test))]
        let election = Election::new(client, settings, metrics)?;
        #[cfg(test)]
        let election = Election::on_the_tests_clock(client, settings, metrics)?;
        Ok(Self {
            turn: Turn::new(),
            status: election.status(),
            access,
            identity,
            lease,
            election: Some(election),
            last_words,
            won: Arc::default(),
            lost: CancellationToken::new(),
            release: CancellationToken::new(),
            task: None,
        })
    }

    /// Says in readiness who leads, and in liveness whether work outlives leadership.
    pub(super) fn add_checks(&self, ready: &Checks, live: &Checks, work: &TaskTracker) {
        let (status, lost) = (self.status.clone(), self.lost.clone());
        ready.add_told("leader-election", move || tell(&status, &lost));
        let (work, lost) = (work.clone(), self.lost.clone());
        live.add("leader-election", move || {
            match lost.is_cancelled() && !work.is_empty() {
                true => Err("leadership was lost, and work still runs".into()),
                false => Ok(()),
            }
        });
    }

    /// Stands for election once the caches are as full as they will be.
    pub(super) fn start(&mut self, led: Led, tasks: &TaskTracker) {
        let Some(election) = self.election.take() else {
            return;
        };
        let (trouble, turn) = (led.trouble.clone(), self.turn.clone());
        let (won, lost, release) = (self.won.clone(), self.lost.clone(), self.release.clone());
        let (lease, identity) = (self.lease.clone(), self.identity.clone());
        let (status, last_words) = (self.status.clone(), self.last_words.clone());
        let task = async move {
            let campaign = async {
                // Who leads without caches does no work and keeps others from it.
                led.readiness.settled().await;
                election.lead().await
            };
            let Some(leading) = led.closing.run_until_cancelled(campaign).await else {
                return;
            };
            let _ = won.set(leading.lease().clone());
            let became = Event::normal("LeaderElection", "BecomeLeader");
            let became = became.note(format!("{identity} became leader"));
            led.events.event_on(leading.lease(), became);
            let stopped = stopped_leading(&identity);
            // Nobody renews any more: the rest stops in order while the lease lasts.
            let (renewals, end) = (leading.lifeline().clone(), led.all.clone());
            let watching = TaskTracker::new();
            led.trouble
                .watch(&watching, "leader-election", renewals, end);
            turn.begin(&leading);
            let dropped = async {
                led.all.cancelled().await;
                led.work.wait().await;
            };
            tokio::select! {
                () = leading.lost() => {
                    lost.cancel();
                    led.abort.cancel();
                    led.closing.cancel();
                    led.trouble.report(OperatorError::LeadershipLost {
                        lease,
                        leader: status.leader().filter(|leader| *leader != identity),
                    });
                    // The guard's thread watches until nothing runs any more.
                    tokio::join!(led.work.wait(), async {
                        last_words.start(&led.all);
                        last_words.event_on(leading.lease(), stopped);
                        last_words.shutdown(LAST_WORDS).await;
                    });
                }
                () = release.cancelled() => give_back(leading).await,
                () = dropped => give_back(leading).await,
            }
        };
        let task = trouble.spawn(tasks, "leader-election", "leader election", task.boxed());
        self.task = Some(task);
    }

    /// Whether it was lost.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Records that it ends, while Events still can be sent.
    pub(super) fn farewell(&self, events: &Recorder) {
        if let Some(lease) = self.won.get()
            && !self.is_lost()
        {
            events.event_on(lease, stopped_leading(&self.identity));
        }
    }

    /// Hands over. All work has ended.
    pub(super) async fn release(self) {
        self.release.cancel();
        if let Some(task) = self.task {
            // Its panic was reported.
            let _ = task.await;
        }
    }
}

fn stopped_leading(identity: &str) -> Event {
    let stops = Event::normal("LeaderElection", "StopLeading");
    stops.note(format!("{identity} stopped leading"))
}

async fn give_back(leading: Leading) {
    if let Err(error) = leading.release().await {
        tracing::warn!("another process leads only when the lease has run out: {error}");
    }
}

/// Whether this process can take part, and what it is.
fn tell(status: &ElectionStatus, lost: &CancellationToken) -> Result<String, String> {
    if lost.is_cancelled() {
        return Err("leadership was lost".into());
    }
    let trouble = status.trouble();
    let mut text = match (status.phase(), status.leader()) {
        (Phase::StandingBy, None) => match trouble {
            Some(trouble) => return Err(format!("cannot take part: {trouble}")),
            None => "standing by; nobody leads yet".to_owned(),
        },
        (Phase::StandingBy, Some(leader)) => format!("standing by; {leader} leads"),
        (Phase::Leading, leader) => format!("leading as {}", leader.unwrap_or_default()),
        (Phase::Ended, _) => "not leading any more".to_owned(),
    };
    if let Some(trouble) = trouble {
        text = format!("{text}; the last attempt failed: {trouble}");
    }
    Ok(text)
}
