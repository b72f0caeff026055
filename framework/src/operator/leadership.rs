use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{OperatorError, readiness::Readiness, shutdown_cause::ShutdownCause};
use crate::{
    client::{Client, Deadlines},
    election::{
        Election, ElectionError, ElectionSettings, ElectionStatus, LeadershipGate, Leading, Phase,
    },
    events::{NewEvent, Recorder},
    health::Checks,
    metrics::Metrics,
    resource::{Access, ObjectRef},
};

/// The name of the checks of the leader election.
pub(super) const ELECTION_CHECK: &str = "leader-election";

/// The time limit for the Event that leadership was lost.
const LOST_EVENT_TIMEOUT: Duration = Duration::from_millis(500);

/// The operator's part in a leader election. The caches fill before it leads, its work starts when it leads, and the
/// Lease is released when the work has ended.
pub(super) struct Leadership {
    pub(super) leadership_gate: LeadershipGate,
    pub(super) status: ElectionStatus,
    pub(super) access: Access,
    identity: String,
    lease: String,
    election: Option<Election>,
    /// Records that leadership was lost. The other recorder is fenced and can send nothing then.
    unfenced_events: Recorder,
    /// The Lease, after it was won.
    won: Arc<OnceLock<ObjectRef>>,
    lost: CancellationToken,
    release: CancellationToken,
    task: Option<JoinHandle<()>>,
}

/// What the leadership task controls.
pub(super) struct LeaderContext {
    pub(super) readiness: Readiness,
    pub(super) events: Recorder,
    pub(super) shutdown_cause: ShutdownCause,
    /// All work that may run only while this process leads. The tracker is closed.
    pub(super) work: TaskTracker,
    pub(super) closing: CancellationToken,
    pub(super) abort: CancellationToken,
    /// Cancelled when the operator was dropped.
    pub(super) all: CancellationToken,
}

impl Leadership {
    pub(super) fn new(
        client: &Client,
        settings: ElectionSettings,
        metrics: &Metrics,
        operator: &str,
    ) -> Result<Self, ElectionError> {
        let apart = client.with_own_connections(Deadlines::default());
        let unfenced_events = Recorder::with_metrics(&apart, operator, metrics);
        let (identity, namespace) = (settings.identity.clone(), client.default_namespace());
        let access = access(&settings, namespace);
        let namespace = settings.namespace.as_deref().unwrap_or(namespace);
        let lease = format!("{namespace}/{}", settings.name);
        let election = Election::new(client, settings, metrics)?;
        Ok(Self {
            leadership_gate: LeadershipGate::new(),
            status: election.status(),
            access,
            identity,
            lease,
            election: Some(election),
            unfenced_events,
            won: Arc::default(),
            lost: CancellationToken::new(),
            release: CancellationToken::new(),
            task: None,
        })
    }

    /// Adds a readiness check that shows the leader, and a liveness check that fails if work outlives the leadership.
    pub(super) fn add_checks(&self, ready: &Checks, live: &Checks, work: &TaskTracker) {
        let (status, lost) = (self.status.clone(), self.lost.clone());
        ready.add_with_details(ELECTION_CHECK, move || {
            describe_election(&status, &lost).map(Some)
        });
        let (work, lost) = (work.clone(), self.lost.clone());
        live.add(ELECTION_CHECK, move || {
            match lost.is_cancelled() && !work.is_empty() {
                true => Err("leadership was lost, but work still runs".into()),
                false => Ok(()),
            }
        });
    }

    /// Takes part in the election once the caches have filled as far as possible.
    pub(super) fn start(&mut self, context: LeaderContext, tasks: &TaskTracker) {
        let Some(election) = self.election.take() else {
            return;
        };
        let (shutdown_cause, leadership_gate) =
            (context.shutdown_cause.clone(), self.leadership_gate.clone());
        let (won, lost, release) = (self.won.clone(), self.lost.clone(), self.release.clone());
        let (lease, identity) = (self.lease.clone(), self.identity.clone());
        let (status, unfenced_events) = (self.status.clone(), self.unfenced_events.clone());
        let task = async move {
            let acquired = async {
                // A leader without caches would do no work and keep other processes from doing it.
                context.readiness.caches_settled().await;
                election.lead().await
            };
            let Some(leading) = context.closing.run_until_cancelled(acquired).await else {
                return;
            };
            let _ = won.set(leading.lease().clone());
            let became = NewEvent::normal("LeaderElection", "BecomeLeader");
            let became = became.note(format!("{identity} became leader"));
            context.events.event_on(leading.lease(), became);
            let stopped = stop_leading_event(&identity);
            // The renewal has panicked: the rest stops in order while the lease lasts.
            let (renewals, end) = (leading.task_monitor().clone(), context.all.clone());
            let watching = TaskTracker::new();
            context
                .shutdown_cause
                .watch(&watching, "leader-election", renewals, end);
            leadership_gate.open(&leading);
            let dropped = async {
                context.all.cancelled().await;
                context.work.wait().await;
            };
            tokio::select! {
                () = leading.lost() => {
                    lost.cancel();
                    context.abort.cancel();
                    context.closing.cancel();
                    context.shutdown_cause.report(OperatorError::LeadershipLost {
                        lease,
                        leader: status.leader().filter(|leader| *leader != identity),
                        reason: status.last_error(),
                    });
                    // The watchdog thread of the guard runs until all work has ended.
                    tokio::join!(context.work.wait(), async {
                        unfenced_events.start(&context.all);
                        unfenced_events.event_on(leading.lease(), stopped);
                        unfenced_events.shutdown(LOST_EVENT_TIMEOUT).await;
                    });
                }
                () = release.cancelled() => release_lease(leading).await,
                () = dropped => release_lease(leading).await,
            }
        };
        let task = shutdown_cause.spawn(tasks, "leader-election", "leader election", task.boxed());
        self.task = Some(task);
    }

    /// Whether the leadership was lost.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Records the end of the leadership while Events can still be sent.
    pub(super) fn record_stop(&self, events: &Recorder) {
        if let Some(lease) = self.won.get()
            && !self.is_lost()
        {
            events.event_on(lease, stop_leading_event(&self.identity));
        }
    }

    /// Releases the Lease. The caller calls it after all work has ended.
    pub(super) async fn release(self) {
        self.release.cancel();
        if let Some(task) = self.task {
            // Its panic was reported.
            let _ = task.await;
        }
    }
}

/// The access that the election needs: to its Lease, and to Events about it. `default` is the namespace of the Lease if the
/// settings name none.
pub(super) fn access(settings: &ElectionSettings, default: &str) -> Access {
    let namespace = settings.namespace.as_deref().unwrap_or(default);
    Election::access(settings, default).and(Recorder::access_in(namespace))
}

fn stop_leading_event(identity: &str) -> NewEvent {
    let stops = NewEvent::normal("LeaderElection", "StopLeading");
    stops.note(format!("{identity} stopped leading"))
}

async fn release_lease(leading: Leading) {
    if let Err(error) = leading.release().await {
        tracing::warn!("another process can lead only after the lease has expired: {error}");
    }
}

/// The state of the election for readiness; an error if this process cannot take part.
fn describe_election(status: &ElectionStatus, lost: &CancellationToken) -> Result<String, String> {
    if lost.is_cancelled() {
        return Err("leadership was lost".into());
    }
    let last_error = status.last_error();
    let mut text = match (status.phase(), status.leader()) {
        (Phase::StandingBy, leader) => match (leader, last_error.as_ref()) {
            // The leader that was seen last may be gone: without the permission nobody here would know.
            (leader, Some(error)) if leader.is_none() || status.is_forbidden() => {
                return Err(format!("cannot take part in the election: {error}"));
            }
            (Some(leader), _) => format!("standing by; {leader} leads"),
            (None, _) => "standing by; no process leads yet".to_owned(),
        },
        (Phase::Leading, leader) => format!("leading as {}", leader.unwrap_or_default()),
        (Phase::Ended, _) => "not leading any more".to_owned(),
    };
    if let Some(error) = last_error {
        text = format!("{text}; the last attempt failed: {error}");
    }
    Ok(text)
}
