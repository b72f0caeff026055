use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::record::{CauseRecord, ReconcileRecord, WriteRecord};

/// Why an object is reconciled.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CauseReport {
    /// Such as `created`, `updated`, `owned`, `watched`, `retry` or `resync`.
    pub cause: &'static str,
    /// What changed, such as `ConfigMap default/a updated: data.b`. `None` if nothing changed, or if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// The age of the last such change in seconds.
    pub seconds_ago: f64,
    /// How often the same was noted.
    pub times: u32,
}

/// One reconcile of an object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReconcileReport {
    /// The seconds since its start.
    pub seconds_ago: f64,
    /// The number of the attempt since the last success, from 1.
    pub attempt: u32,
    /// Why it was made, the newest cause first.
    pub causes: Vec<CauseReport>,
    /// How many seconds it waited until the caches had what the reconcile before it wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_for_own_writes_seconds: Option<f64>,
    /// Its requests that write, in their order; at most 50.
    pub writes: Vec<WriteReport>,
    /// The number of further writes.
    pub more_writes: usize,
    /// How many seconds it took. `None` while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// How it ended: `succeeded`, `waits`, `failed`, … `None` while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    /// Whether it failed.
    pub failed: bool,
    /// The text of its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// After this many seconds the object was to be reconciled again without a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again_after_seconds: Option<f64>,
}

/// A request of a reconcile that writes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WriteReport {
    /// Such as `apply`, `create` or `delete`.
    pub verb: &'static str,
    /// Kind, namespace and name.
    pub object: String,
    /// How many seconds after the start of the reconcile it was answered.
    pub after_seconds: f64,
    /// The fields that it changed, compared with the cache; at most 10. `None` if the cache did not have the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<Vec<String>>,
    /// The number of further changed fields.
    pub more_changed: usize,
    /// The error that answered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl CauseReport {
    pub(super) fn of(record: &CauseRecord, now: Instant) -> Self {
        Self {
            cause: record.name,
            what: (!record.what.is_empty()).then(|| record.what.clone()),
            seconds_ago: seconds(now.saturating_duration_since(record.at)),
            times: record.times,
        }
    }
}

impl ReconcileReport {
    pub(super) fn of(record: &ReconcileRecord, now: Instant) -> Self {
        let since = |at: Instant| seconds(at.saturating_duration_since(record.start));
        let ended = record.ended.as_ref();
        let causes = record.causes.iter().rev();
        let writes = record.writes.iter();
        Self {
            seconds_ago: seconds(now.saturating_duration_since(record.start)),
            attempt: record.attempt,
            causes: causes.map(|one| CauseReport::of(one, now)).collect(),
            waited_for_own_writes_seconds: record.waited.map(seconds),
            writes: writes
                .map(|one| WriteReport::of(one, since(one.at)))
                .collect(),
            more_writes: record.more_writes,
            seconds: ended.map(|(at, _)| since(*at)),
            outcome: ended.map(|(_, ended)| ended.how),
            failed: ended.is_some_and(|(_, ended)| ended.is_failure),
            text: ended.and_then(|(_, ended)| ended.text.clone()),
            again_after_seconds: ended.and_then(|(_, ended)| ended.again_after.map(seconds)),
        }
    }
}

impl WriteReport {
    fn of(record: &WriteRecord, after_seconds: f64) -> Self {
        let changed = record.changed.as_ref();
        Self {
            verb: record.verb,
            object: record.object.clone(),
            after_seconds,
            changed: changed.map(|changed| changed.paths.clone()),
            more_changed: changed.map_or(0, |changed| changed.more),
            error: record.error.clone(),
        }
    }
}

/// Seconds, rounded down to the millisecond.
fn seconds(duration: Duration) -> f64 {
    duration.as_millis() as f64 / 1000.0
}
