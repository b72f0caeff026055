use std::{sync::Arc, time::Duration};

use serde::Serialize;
use tokio::time::Instant;

use super::{hub::Hub, key_states::LastFailure, status::ControllerStatus};
use crate::{
    queue::{KeyState, Priority, QueuedKey},
    resource::ObjectKey,
};

/// What a controller does at one moment, key by key, for people to look at: see
/// [`ControllerStatus::report`].
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ControllerReport {
    /// Its name.
    pub name: String,
    /// The reconciled kind.
    pub kind: String,
    /// `working` and how many objects fail, or what it waits for.
    pub status: String,
    /// How many reconciles may run at once.
    pub workers: usize,
    /// How many run.
    pub running: usize,
    /// How many keys wait for a worker.
    pub waiting: usize,
    /// How many objects are left alone, by their annotation.
    pub paused: usize,
    /// Of how many objects it remembers what it did with them. Nothing is remembered of one that is gone.
    pub remembered: usize,
    /// The keys with which something is the matter: those with a worker first, then those that failed.
    pub keys: Vec<KeyReport>,
    /// How many more keys are in the queue.
    pub more_keys: usize,
}

/// What becomes of one key.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct KeyReport {
    /// Namespace and name of the object.
    pub key: String,
    /// What it does.
    pub state: KeyActivity,
    /// For so long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<f64>,
    /// Its next run begins after this at the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_in_seconds: Option<f64>,
    /// Of its next run: `low`, `normal` or `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<&'static str>,
    /// How often it failed in a row.
    pub failures: u32,
    /// How its last call failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailureReport>,
    /// What it wrote and its controller's caches do not have yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum KeyActivity {
    /// A worker has it.
    Running,
    /// As [`Running`](Self::Running), and another run has been asked for meanwhile.
    RunningAndDirty,
    /// It is ready, and waits for a worker.
    Waiting,
    /// It waits until the caches have what its last run wrote.
    AwaitingOwnWrites,
    /// It waits for its deadline.
    Delayed,
    /// Its last call failed, and it is not tried again before something changes.
    Failed,
}

/// How a call failed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FailureReport {
    /// The error and what caused it; what is beyond 1 KiB is cut off.
    pub text: String,
    /// How long ago.
    pub seconds_ago: f64,
}

/// A key that waits until the caches have what it wrote.
pub(super) struct Parked {
    pub(super) key: ObjectKey,
    pub(super) since: Duration,
    /// The objects that are not there yet.
    pub(super) waits_for: Vec<String>,
}

impl Hub {
    /// What the controller does now, with `limit` keys of each kind at most.
    pub(super) fn report(&self, status: &ControllerStatus, limit: usize) -> ControllerReport {
        let now = Instant::now();
        let queued = self.queue.keys(limit);
        let more_keys = self.queue.remembered().saturating_sub(queued.len());
        let failed = self.states.failures(limit);
        let mut keys: Vec<KeyReport> = Vec::new();
        keys.extend(queued.into_iter().filter_map(KeyReport::of_queued));
        let parked = self.writes.parked(limit).into_iter();
        keys.extend(parked.map(KeyReport::of_parked));
        for (key, failure) in failed {
            let failure = FailureReport::of(&failure, now);
            match keys.iter_mut().find(|one| one.key == key.as_str()) {
                Some(known) => known.last_failure = Some(failure),
                None => keys.push(KeyReport {
                    last_failure: Some(failure),
                    failures: 1,
                    ..KeyReport::new(&key, KeyActivity::Failed)
                }),
            }
        }
        keys.sort_by(|a, b| {
            let order = |one: &KeyReport| (one.state, one.failures == 0);
            order(a).cmp(&order(b)).then_with(|| a.key.cmp(&b.key))
        });
        let known = self.states.len();
        ControllerReport {
            name: self.name.clone(),
            kind: self.kind.into(),
            status: status.to_string(),
            workers: self.metrics.max_concurrent.get() as usize,
            running: self.metrics.active_workers.get() as usize,
            waiting: self.queue.len(),
            paused: self.paused.len(),
            remembered: known.max(self.queue.remembered()).max(self.writes.len()),
            keys,
            more_keys,
        }
    }
}

impl KeyReport {
    fn new(key: &ObjectKey, state: KeyActivity) -> Self {
        Self {
            key: key.to_string(),
            state,
            for_seconds: None,
            due_in_seconds: None,
            priority: None,
            failures: 0,
            last_failure: None,
            waits_for: Vec::new(),
        }
    }

    /// `None` if all there is to know of it are its failures.
    fn of_queued(queued: QueuedKey<ObjectKey>) -> Option<Self> {
        let (state, since) = match queued.state {
            KeyState::Running { since, again: true } => (KeyActivity::RunningAndDirty, Some(since)),
            KeyState::Running { since, .. } => (KeyActivity::Running, Some(since)),
            KeyState::Waiting => (KeyActivity::Waiting, None),
            KeyState::Idle => (KeyActivity::Delayed, None),
        };
        if state == KeyActivity::Delayed && queued.due_in.is_none() {
            return None;
        }
        let priority = match queued.priority {
            Priority::Low => "low",
            Priority::Normal => "normal",
            Priority::High => "high",
        };
        Some(Self {
            for_seconds: since.map(seconds),
            due_in_seconds: queued.due_in.map(seconds),
            priority: (state != KeyActivity::Running).then_some(priority),
            failures: queued.failures,
            ..Self::new(&queued.key, state)
        })
    }

    fn of_parked(parked: Parked) -> Self {
        Self {
            for_seconds: Some(seconds(parked.since)),
            waits_for: parked.waits_for,
            ..Self::new(&parked.key, KeyActivity::AwaitingOwnWrites)
        }
    }
}

impl FailureReport {
    fn of(failure: &Arc<LastFailure>, now: Instant) -> Self {
        Self {
            text: failure.text.to_string(),
            seconds_ago: seconds(now.saturating_duration_since(failure.at)),
        }
    }
}

/// To the millisecond.
fn seconds(duration: Duration) -> f64 {
    duration.as_millis() as f64 / 1000.0
}
