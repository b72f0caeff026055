//! What a Job reads from a Pod.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::controllers::simulator::object::{condition, number};
use crate::meta;

pub(super) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
pub(super) const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
pub(super) const INDEX_IGNORED: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

pub(super) fn is_tracked(pod: &Value) -> bool {
    meta::finalizers(pod).contains(&FINALIZER)
}

/// The completion index of a Pod of an indexed Job.
pub(super) fn index(pod: &Value) -> Option<i64> {
    let index = annotation(pod, INDEX)?.parse().ok();
    index.filter(|index| *index >= 0)
}

/// A count in an annotation; 0 if it is missing or not a count.
pub(super) fn count(pod: &Value, name: &str) -> i64 {
    let count = annotation(pod, name).and_then(|text| text.parse::<i32>().ok());
    count.map_or(0, |count| i64::from(count.max(0)))
}

fn annotation<'a>(pod: &'a Value, name: &str) -> Option<&'a str> {
    pod.pointer("/metadata/annotations")?.get(name)?.as_str()
}

pub(super) fn succeeded(pod: &Value) -> bool {
    pod["status"]["phase"] == "Succeeded"
}

/// When a Pod ended: by its containers, else by its condition `Ready`, else by its deletion, else by its creation.
pub(super) fn finished_at(pod: &Value) -> Option<Timestamp> {
    let time = |value: &Value| value.as_str()?.parse::<Timestamp>().ok();
    let containers = pod.pointer("/status/containerStatuses");
    let containers = containers.and_then(Value::as_array);
    let ends = containers.map(|all| {
        all.iter()
            .map(|one| time(&one["state"]["terminated"]["finishedAt"]))
            .collect::<Option<Vec<_>>>()
    });
    if let Some(last) = ends.flatten().and_then(|ends| ends.into_iter().max()) {
        return Some(last);
    }
    let unready = condition(pod, "Ready").filter(|ready| ready["status"] == "False");
    if let Some(since) = unready.and_then(|ready| time(&ready["lastTransitionTime"])) {
        return Some(since);
    }
    if let Some(deleted) = time(&pod["metadata"]["deletionTimestamp"]) {
        let grace = number(pod, "/metadata/deletionGracePeriodSeconds");
        return deleted.checked_sub(SignedDuration::from_secs(grace)).ok();
    }
    time(&pod["metadata"]["creationTimestamp"])
}
