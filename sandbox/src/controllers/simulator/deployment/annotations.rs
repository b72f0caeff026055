//! The annotations of the ReplicaSets of a Deployment.

use serde_json::{Map, Value};

use super::rollout::bound;
use crate::controllers::simulator::object::{REVISION, number};

/// The earlier revisions of a ReplicaSet that was used again.
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// The replicas of the Deployment when the ReplicaSet was scaled.
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// The most Pods that the Deployment might have then.
const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// Annotations that a ReplicaSet does not take from its Deployment.
const SKIPPED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MAX,
];

/// The most bytes of the history of revisions.
const LONGEST_HISTORY: usize = 2000;

/// The annotations of the ReplicaSet with the present template: those of its Deployment, which `kubectl rollout undo` brings back, and at
/// least the revision `next`.
pub(super) fn of_new(deployment: &Value, known: &Value, next: i64) -> Map<String, Value> {
    let mut annotations = known.as_object().cloned().unwrap_or_default();
    let own = deployment["metadata"]["annotations"].as_object();
    for (name, value) in own.into_iter().flatten() {
        if !SKIPPED.contains(&name.as_str()) {
            annotations.insert(name.clone(), value.clone());
        }
    }
    let text = |name: &str| annotations.get(name).and_then(Value::as_str);
    let revision = text(REVISION).map(str::to_owned);
    let number: i64 = match revision.as_deref() {
        None | Some("") => 0,
        Some(text) => text.parse().unwrap_or(i64::MAX),
    };
    if number >= next {
        return annotations;
    }
    if let Some(old) = revision {
        let history = text(HISTORY).unwrap_or_default().to_owned();
        annotations.insert(HISTORY.into(), extended(&history, &old).into());
    }
    annotations.insert(REVISION.into(), next.to_string().into());
    annotations
}

/// A history with one more revision, without the oldest if it becomes too long.
fn extended(history: &str, revision: &str) -> String {
    let mut history = match history {
        "" => return revision.to_owned(),
        history => format!("{history},{revision}"),
    };
    while history.len() > LONGEST_HISTORY
        && let Some((_, rest)) = history.split_once(',')
    {
        history = rest.to_owned();
    }
    history
}

/// Whether the annotations tell of another size of the Deployment.
pub(super) fn is_of_other_size(deployment: &Value, set: &Value) -> bool {
    let desired = number(deployment, "/spec/replicas").to_string();
    set["metadata"]["annotations"][DESIRED] != desired
}

/// Notes the size of the Deployment.
pub(super) fn set_size(deployment: &Value, annotations: &mut Map<String, Value>) {
    let desired = number(deployment, "/spec/replicas");
    let strategy = &deployment["spec"]["strategy"];
    let surge = match strategy["type"] == "Recreate" {
        true => 0,
        false => bound(&strategy["rollingUpdate"]["maxSurge"], desired, true),
    };
    let max = desired.saturating_add(surge);
    for (name, count) in [(DESIRED, desired), (MAX, max)] {
        annotations.insert(name.into(), count.to_string().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_as_long_as_it_may_be() {
        assert_eq!(extended("", "1"), "1");
        assert_eq!(extended("1", "3"), "1,3");
        let long = vec!["123456789"; 200].join(",");
        let longer = extended(&long, "7");
        assert!(longer.len() <= LONGEST_HISTORY && longer.ends_with(",7"));
        assert_eq!(longer.len() % 10, 1);
    }
}
