use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::rollout::bound;
use crate::api::Handle;
use crate::controllers::simulator::conditions::{self, Condition};
use crate::controllers::simulator::object::{
    REVISION, condition, deployments, number, revision, set_count,
};
use crate::meta;

struct Counts {
    desired: i64,
    all: i64,
    updated: i64,
    ready: i64,
    available: i64,
}

/// Writes the status of a Deployment. `failure` is the reason why its ReplicaSet could not be created. Returns the time after which its roll-out exceeds its deadline.
pub(super) fn report(
    handle: &Handle,
    deployment: &Value,
    new: Option<&Value>,
    old: &[Arc<Value>],
    failure: Option<&str>,
) -> Option<Duration> {
    let sets: Vec<&Value> = old.iter().map(AsRef::as_ref).chain(new).collect();
    let sum = |pointer: &str| sets.iter().map(|set| number(set, pointer)).sum::<i64>();
    let counts = Counts {
        desired: number(deployment, "/spec/replicas"),
        all: sum("/status/replicas"),
        updated: new.map_or(0, |new| number(new, "/status/replicas")),
        ready: sum("/status/readyReplicas"),
        available: sum("/status/availableReplicas"),
    };
    let wanted = sum("/spec/replicas");
    let generation = deployment["metadata"]["generation"].clone();
    let clock = &handle.core().clock;
    let (now, stamp) = (clock.now(), clock.timestamp());
    let name = new.map_or_else(String::new, |new| meta::name(new).to_owned());
    let number_of_new = new.map(revision);
    let uid = meta::uid(deployment);
    let mut again = None;
    let place = (meta::text(deployment, "namespace"), meta::name(deployment));
    let written = handle.update(&deployments(), Some(place.0), place.1, "status", |object| {
        again = None;
        if meta::uid(object) != uid {
            return;
        }
        if let Some(number) = number_of_new {
            let annotations = &mut object["metadata"]["annotations"];
            if !annotations.is_object() {
                *annotations = json!({});
            }
            annotations[REVISION] = json!(number.to_string());
        }
        let spec = object["spec"].clone();
        let status = &mut object["status"];
        if !status.is_object() {
            *status = json!({});
        }
        let has_advanced = counts.has_advanced(status);
        status["observedGeneration"] = generation.clone();
        set_count(status, "replicas", counts.all);
        set_count(status, "updatedReplicas", counts.updated);
        set_count(status, "readyReplicas", counts.ready);
        set_count(status, "availableReplicas", counts.available);
        let missing = (wanted - counts.available).max(0);
        set_count(status, "unavailableReplicas", missing);
        counts.available(&spec, status, &stamp);
        let set = failure.map_or(Ok(name.as_str()), Err);
        again = counts.progress(&spec, status, set, has_advanced, (now, &stamp));
    });
    if let Err(error) = written {
        tracing::debug!(name = place.1, %error, "the simulator cannot write the status of the Deployment");
    }
    again
}

impl Counts {
    /// Whether the roll-out has advanced since the status was written.
    fn has_advanced(&self, status: &Value) -> bool {
        let was = |name: &str| status[name].as_i64().unwrap_or_default();
        let old = was("replicas") - was("updatedReplicas");
        self.updated > was("updatedReplicas")
            || self.all - self.updated < old
            || self.ready > was("readyReplicas")
            || self.available > was("availableReplicas")
    }

    fn complete(&self) -> bool {
        self.updated == self.desired && self.all == self.desired && self.available == self.desired
    }

    fn available(&self, spec: &Value, status: &mut Value, now: &str) {
        let bound_of =
            |name: &str, up| bound(&spec["strategy"]["rollingUpdate"][name], self.desired, up);
        let (surge, unavailable) = (
            bound_of("maxSurge", true),
            bound_of("maxUnavailable", false),
        );
        let rolling = spec["strategy"]["type"] != "Recreate";
        let allowed = match rolling {
            true if surge == 0 => unavailable.max(1),
            true => unavailable,
            false => 0,
        };
        let enough = self.available >= self.desired - allowed.min(self.desired);
        let condition = Condition {
            kind: "Available",
            status: if enough { "True" } else { "False" },
            reason: if enough {
                "MinimumReplicasAvailable"
            } else {
                "MinimumReplicasUnavailable"
            },
            message: if enough {
                "Deployment has minimum availability.".to_owned()
            } else {
                "Deployment does not have minimum availability.".to_owned()
            },
        };
        conditions::set(status, &condition, true, now);
    }

    /// Sets the condition `Progressing`, and returns the time until its deadline. `set` is the name of the new ReplicaSet. Its error is the
    /// reason why the Deployment has no new ReplicaSet.
    fn progress(
        &self,
        spec: &Value,
        status: &mut Value,
        set: Result<&str, &str>,
        has_advanced: bool,
        (now, stamp): (Timestamp, &str),
    ) -> Option<Duration> {
        let object = json!({"status": status.clone()});
        let old = condition(&object, "Progressing");
        let had = old
            .and_then(|old| old["reason"].as_str())
            .unwrap_or_default();
        let paused = spec["paused"] == true;
        let limit = spec["progressDeadlineSeconds"].as_i64().unwrap_or(600);
        let since = old.and_then(|old| old["lastUpdateTime"].as_str()?.parse::<Timestamp>().ok());
        let left = since.and_then(|since| {
            let left = SignedDuration::from_secs(limit) - now.duration_since(since);
            Duration::try_from(left).ok().filter(|left| !left.is_zero())
        });
        let failure = set.err();
        let set = set.unwrap_or_default();
        let (value, reason, message) = if let Some(failure) = failure {
            ("False", CREATE_ERROR, failure.to_owned())
        } else if paused {
            (
                "Unknown",
                "DeploymentPaused",
                "Deployment is paused".to_owned(),
            )
        } else if self.complete() {
            let message = format!("ReplicaSet {set:?} has successfully progressed.");
            ("True", "NewReplicaSetAvailable", message)
        } else if matches!(had, "" | "DeploymentPaused" | CREATE_ERROR) {
            let message = format!("Created new replica set {set:?}");
            ("True", "NewReplicaSetCreated", message)
        } else if has_advanced || had == "NewReplicaSetAvailable" || left.is_some() && had != LATE {
            let message = format!("ReplicaSet {set:?} is progressing.");
            ("True", "ReplicaSetUpdated", message)
        } else {
            let message = format!("ReplicaSet {set:?} has timed out progressing.");
            ("False", LATE, message)
        };
        let condition = Condition {
            kind: "Progressing",
            status: value,
            reason,
            message,
        };
        let changed = conditions::set(status, &condition, true, stamp);
        if has_advanced && !changed {
            restart_deadline(status, stamp);
        }
        let waits = !paused && !self.complete() && reason != LATE;
        // One more second, because times in objects are whole seconds.
        waits.then(|| {
            let full = Duration::from_secs(limit.unsigned_abs());
            let left = if has_advanced || changed {
                full
            } else {
                left.unwrap_or(full)
            };
            left + Duration::from_secs(1)
        })
    }
}

/// The reason if a ReplicaSet cannot be created.
pub(super) const CREATE_ERROR: &str = "ReplicaSetCreateError";
const LATE: &str = "ProgressDeadlineExceeded";

/// Restarts the deadline: the roll-out has advanced.
fn restart_deadline(status: &mut Value, now: &str) {
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        if condition["type"] == "Progressing" {
            condition["lastUpdateTime"] = json!(now);
        }
    }
}
