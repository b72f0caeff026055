use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::jobs::{Step, finish};
use super::pod;
use super::policy::{self, Verdict};
use crate::api::Handle;
use crate::controllers::simulator::object::{
    controller, is_controlled_by, number, owner_of, pods, set_count, update,
};
use crate::controllers::simulator::pod_control::controlled;
use crate::meta;

/// The most Pods whose end waits in a status to be counted.
const MOST: usize = 500;

impl Step<'_> {
    /// Counts Pods that have ended in the status, and removes their finalizer. Then the Job may be finished. `changed` says
    /// whether the status must be written anyway. Returns whether the status was written before finalizers were removed.
    pub(super) fn track(&mut self, mut changed: bool) -> bool {
        let mut held: BTreeSet<String> = (self.pods.iter())
            .filter(|pod| pod::is_tracked(pod))
            .map(|pod| meta::uid(pod).to_owned())
            .collect();
        if !self.status["uncountedTerminatedPods"].is_object() {
            self.status["uncountedTerminatedPods"] = json!({});
        }
        changed |= self.count_released(&held);
        let (released, complete) = self.find_ended(&mut changed);
        if self.is_indexed() {
            changed |= self.report_indexes();
        }
        if let Some(end) = self.end.clone()
            && let Some(last) = match end.kind {
                "FailureTarget" => Some("Failed"),
                "SuccessCriteriaMet" => Some("Complete"),
                _ => None,
            }
        {
            changed |= self.set_condition(end.kind, "True", &end.reason, &end.message);
            self.end = self
                .end
                .take()
                .map(|end| super::jobs::End { kind: last, ..end });
        }
        if changed {
            self.write_status();
        }
        for pod in &released {
            remove_finalizer(self.handle, pod);
            held.remove(meta::uid(pod));
        }
        let counted = self.count_released(&held);
        let finished = complete && self.finish();
        if counted || finished {
            self.write_status();
        }
        if finished {
            self.record_end();
        }
        changed
    }

    /// Counts the Pods that wait to be counted and whose finalizer is gone. Returns whether there are any.
    fn count_released(&mut self, held: &BTreeSet<String>) -> bool {
        let mut changed = false;
        for which in ["succeeded", "failed"] {
            let list = self.status["uncountedTerminatedPods"][which].take();
            let (waiting, counted): (Vec<Value>, Vec<Value>) = (list.as_array().cloned())
                .unwrap_or_default()
                .into_iter()
                .partition(|uid| uid.as_str().is_some_and(|uid| held.contains(uid)));
            if !counted.is_empty() {
                changed = true;
                let more = i64::try_from(counted.len()).unwrap_or_default();
                let count = number(&self.status, &format!("/{which}")) + more;
                set_count(&mut self.status, which, count);
            }
            self.set_uncounted(which, waiting);
        }
        changed
    }

    fn set_uncounted(&mut self, which: &str, list: Vec<Value>) {
        let uncounted = self.status["uncountedTerminatedPods"].as_object_mut();
        let Some(uncounted) = uncounted else { return };
        if list.is_empty() {
            uncounted.remove(which);
        } else {
            uncounted.insert(which.to_owned(), list.into());
        }
    }

    /// Adds the Pods that have ended to those that wait to be counted. Returns the Pods that lose their finalizer, and
    /// whether these are all.
    fn find_ended(&mut self, changed: &mut bool) -> (Vec<std::sync::Arc<Value>>, bool) {
        let mut lists = ["succeeded", "failed"].map(|which| {
            let list = self.status["uncountedTerminatedPods"][which].as_array();
            list.cloned().unwrap_or_default()
        });
        let failing = self
            .end
            .as_ref()
            .is_some_and(|end| end.kind != "SuccessCriteriaMet");
        let mut released = Vec::new();
        let mut complete = true;
        let mut indexes = 0;
        for pod in self.pods.clone() {
            let failed = self.has_failed(&pod);
            if !pod::is_tracked(&pod) || !self.may_be_released(&pod, failed) {
                continue;
            }
            released.push(pod.clone());
            let uid = json!(meta::uid(&pod));
            let index = self.index_of(&pod);
            let [good, bad] = &mut lists;
            if pod::succeeded(&pod) && !bad.contains(&uid) {
                if self.is_indexed() {
                    let new = index.filter(|index| !self.counted_indexes.contains(*index));
                    *changed |= new.is_some();
                    indexes += usize::from(new.is_some());
                } else if !good.contains(&uid) {
                    *changed = true;
                    good.push(uid);
                }
            } else if (failed || failing)
                && !bad.contains(&uid)
                && (!self.is_indexed() || index.is_some())
                && policy::failure(self.spec, &pod) != Verdict::Ignore
            {
                *changed = true;
                bad.push(uid);
            }
            let [good, bad] = &lists;
            if indexes + good.len() + bad.len() >= MOST {
                // The rest follows with the next step, which the writes of this one cause.
                complete = false;
                break;
            }
        }
        let [good, bad] = lists;
        self.set_uncounted("succeeded", good);
        self.set_uncounted("failed", bad);
        (released, complete)
    }

    /// Whether a Pod may lose its finalizer. A failed Pod of an index keeps it until another Pod has taken over its count of
    /// failures.
    fn may_be_released(&self, pod: &Value, failed: bool) -> bool {
        if meta::is_deleting(self.job) || self.end.is_some() || pod::succeeded(pod) {
            return true;
        }
        let replaced = self
            .index_of(pod)
            .and_then(|index| self.replaced.get(&index));
        failed && replaced.is_none_or(|replaced| meta::uid(replaced) != meta::uid(pod))
    }

    /// Reports the indexes that succeeded and failed. Returns whether they changed.
    fn report_indexes(&mut self) -> bool {
        let old = self.status.clone();
        let succeeded = self.succeeded_indexes.to_string();
        set_count(
            &mut self.status,
            "succeeded",
            self.succeeded_indexes.count(),
        );
        match self.status.as_object_mut() {
            Some(status) if succeeded.is_empty() => {
                status.remove("completedIndexes");
            }
            _ => self.status["completedIndexes"] = json!(succeeded),
        }
        if let Some(failed) = &self.failed_indexes {
            self.status["failedIndexes"] = json!(failed.to_string());
        }
        old != self.status
    }

    /// Adds the last condition, unless a Pod is still to be counted or runs. Returns whether it was added.
    fn finish(&mut self) -> bool {
        let uncounted = self.status["uncountedTerminatedPods"].as_object();
        let waits = uncounted.is_some_and(|lists| !lists.is_empty()) || self.terminating > 0;
        let Some(end) = self.end.clone().filter(|_| !waits) else {
            return false;
        };
        self.set_condition(end.kind, "True", &end.reason, &end.message);
        if end.kind == "Complete" {
            self.status["completionTime"] = json!(self.handle.core().clock.timestamp());
        }
        true
    }

    fn record_end(&self) {
        let Some(end) = &self.end else { return };
        if end.kind != "Complete" {
            self.record(true, &end.reason, &end.message);
            return;
        }
        let completions = self.spec["completions"].as_i64();
        if completions.is_some_and(|wanted| number(&self.status, "/succeeded") > wanted) {
            let message = "Too many succeeded pods running after completion count reached";
            self.record(true, "TooManySucceededPods", message);
        }
        self.record(false, "Completed", "Job completed");
    }
}

/// Removes the finalizer of a Job from a Pod.
pub(super) fn remove_finalizer(handle: &Handle, pod: &Value) {
    if !pod::is_tracked(pod) {
        return;
    }
    update(handle, &pods(), pod, "", |pod| {
        let mut rest = meta::finalizers(pod);
        rest.retain(|finalizer| *finalizer != pod::FINALIZER);
        let rest = rest.into_iter().map(str::to_owned).collect();
        meta::set_finalizers(pod, rest);
    });
}

/// Removes the finalizer from the Pods of a Job that is gone.
pub(in crate::controllers::simulator) fn release(handle: &Handle, job: &Value) {
    for pod in controlled(handle, job) {
        remove_finalizer(handle, &pod);
    }
}

/// Removes the finalizer from a Pod whose Job is gone or finished.
pub(in crate::controllers::simulator) fn release_orphan(handle: &Handle, pod: &Value) {
    if !pod::is_tracked(pod) {
        return;
    }
    let of_job = |owner: &Value| owner["kind"] == "Job" && owner["apiVersion"] == "batch/v1";
    if !controller(pod).is_none_or(of_job) {
        return;
    }
    let open = owner_of(handle, pod)
        .is_some_and(|job| finish(&job).is_none() && is_controlled_by(pod, &job));
    if !open {
        remove_finalizer(handle, pod);
    }
}
