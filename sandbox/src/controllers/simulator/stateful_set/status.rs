use std::time::Duration;

use serde_json::{Value, json};

use super::pod;
use crate::api::Handle;
use crate::controllers::simulator::object::{is_true, number, set_count, stateful_sets, update};
use crate::meta;

/// The Pods of a StatefulSet, counted.
#[derive(Default)]
pub(super) struct Counts {
    all: i64,
    ready: i64,
    available: i64,
    current: i64,
    updated: i64,
}

impl Counts {
    /// Counts a Pod. `rest` is the time until it is available; `None` if it is not ready. `revisions` are the current one and that
    /// of the update.
    pub(super) fn add(&mut self, one: &Value, rest: Option<Duration>, revisions: &[String; 2]) {
        self.all += 1;
        self.ready += i64::from(is_true(one, "Ready") && one["status"]["phase"] == "Running");
        self.available += i64::from(rest.is_some_and(|rest| rest.is_zero()));
        if !meta::is_deleting(one) {
            let [current, update] = revisions;
            self.current += i64::from(pod::revision(one) == current);
            self.updated += i64::from(pod::revision(one) == update);
        }
    }

    /// A Pod of the current revision is being deleted for the update.
    pub(super) fn replaced(&mut self) {
        self.current -= 1;
    }

    /// Writes the status. If every Pod has the revision of the update, this becomes the current one.
    pub(super) fn write(&self, handle: &Handle, set: &Value, current: &Value, latest: &Value) {
        let wanted = number(set, "/spec/replicas");
        let rolls = set["spec"]["updateStrategy"]["type"] != "OnDelete";
        let done = rolls
            && [self.updated, self.ready, self.all]
                .iter()
                .all(|n| *n == wanted);
        let (current, count) = match done {
            true => (latest, self.updated),
            false => (current, self.current),
        };
        let generation = set["metadata"]["generation"].clone();
        update(handle, &stateful_sets(), set, "status", |set| {
            let status = &mut set["status"];
            if !status.is_object() {
                *status = json!({});
            }
            status["observedGeneration"] = generation.clone();
            // These numbers are always present.
            status["replicas"] = json!(self.all);
            status["availableReplicas"] = json!(self.available);
            status["collisionCount"] = json!(number(status, "/collisionCount"));
            set_count(status, "readyReplicas", self.ready);
            set_count(status, "currentReplicas", count.max(0));
            set_count(status, "updatedReplicas", self.updated);
            status["currentRevision"] = json!(meta::name(current));
            status["updateRevision"] = json!(meta::name(latest));
        });
    }
}
