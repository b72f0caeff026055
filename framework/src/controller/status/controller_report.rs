use std::{sync::Arc, time::Duration};

use serde::Serialize;
use tokio::time::Instant;

use super::controller_status::ControllerStatus;
use crate::{
    controller::{
        read_your_writes::WaitingKey,
        state::{ControllerState, LastFailure},
    },
    queue::{KeyState, Priority, QueuedKey},
    resource::ObjectKey,
};

/// What a controller does at one moment, key by key. See [`ControllerStatus::report`].
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ControllerReport {
    /// The controller's name.
    pub name: String,
    /// The reconciled kind.
    pub kind: String,
    /// `working` and how many objects fail, or what the controller waits for.
    pub status: String,
    /// The largest number of reconciles at once.
    pub workers: usize,
    /// The number of reconciles that run.
    pub running: usize,
    /// The number of keys that wait for a worker.
    pub waiting: usize,
    /// The number of objects that are paused by their annotation.
    pub paused: usize,
    /// The number of objects of which the controller remembers something. It forgets an object that is gone.
    pub remembered: usize,
    /// The keys that are running, waiting, delayed or failed. Sorted by activity; within one, failed keys first.
    pub keys: Vec<KeyReport>,
    /// The number of further keys in the queue.
    pub more_keys: usize,
}

/// The state of one key.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct KeyReport {
    /// Namespace and name of the object.
    pub key: String,
    /// What happens with the key.
    pub state: KeyActivity,
    /// Since how many seconds it is in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<f64>,
    /// After this many seconds the next run begins, or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_in_seconds: Option<f64>,
    /// The priority of the next run: `low`, `normal` or `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<&'static str>,
    /// The number of failures in a row.
    pub failures: u32,
    /// The failure of the last call; `None` if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailureReport>,
    /// The objects that the last call wrote and that the caches do not have yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
}

/// What happens with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum KeyActivity {
    /// A worker reconciles it.
    Running,
    /// A worker reconciles it, and another run was requested meanwhile.
    RunningAndDirty,
    /// It is due and waits for a worker.
    Waiting,
    /// It waits until the caches have what its last call wrote.
    AwaitingOwnWrites,
    /// It waits for its deadline.
    Delayed,
    /// Its last call failed, and the key is not retried before something changes.
    Failed,
}

/// How a call failed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FailureReport {
    /// The error and its causes, cut off after 1 KiB.
    pub text: String,
    /// The age of the failure in seconds.
    pub seconds_ago: f64,
}

impl ControllerReport {
    /// What `controller` does now, with at most `limit` keys of each sort.
    pub(super) fn of(
        controller: &ControllerState,
        status: &ControllerStatus,
        limit: usize,
    ) -> Self {
        let now = Instant::now();
        let queued = controller.queue.keys(limit);
        let more_keys = controller.queue.remembered().saturating_sub(queued.len());
        let failed = controller.key_states.failures(limit);
        let mut keys: Vec<KeyReport> = Vec::new();
        keys.extend(queued.into_iter().filter_map(KeyReport::of_queued));
        let parked = controller.writes.parked(limit).into_iter();
        keys.extend(parked.map(KeyReport::of_parked));
        let blocking = controller.blocking.keys();
        for key in &blocking {
            // The queue does not count a call that was dropped as running, but its blocking code runs on.
            match keys.iter_mut().find(|one| one.key == key.as_str()) {
                Some(known) if known.state == KeyActivity::RunningAndDirty => {}
                Some(known) => known.state = KeyActivity::Running,
                None => keys.push(KeyReport::new(key, KeyActivity::Running)),
            }
        }
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
        let known = controller.key_states.len();
        Self {
            name: controller.name.clone(),
            kind: controller.resource.kind.to_string(),
            status: status.to_string(),
            workers: controller.metrics.max_concurrent.get() as usize,
            running: (controller.metrics.active_workers.get() as usize).max(blocking.len()),
            waiting: controller.queue.len(),
            paused: controller.paused.len(),
            remembered: known
                .max(controller.queue.remembered())
                .max(controller.writes.len()),
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

    /// `None` if the queue only remembers failures of the key.
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

    fn of_parked(parked: WaitingKey) -> Self {
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

/// Seconds, rounded down to the millisecond.
fn seconds(duration: Duration) -> f64 {
    duration.as_millis() as f64 / 1000.0
}
