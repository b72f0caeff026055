use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::backoff::Backoff;
use super::indexes::Indexes;
use super::policy::{self, Verdict};
use super::{COMPONENT, pod, tracking, ttl};
use crate::api::Handle;
use crate::controllers::simulator::claim::{claim, is_selected};
use crate::controllers::simulator::events::{self, Message};
use crate::controllers::simulator::object::{
    condition, is_true, jobs, number, pods, set_count, since, update,
};
use crate::controllers::simulator::pod_control::{self, controlled, has_ended, is_active};
use crate::meta;

/// The Jobs that have not finished.
#[derive(Default)]
pub(in crate::controllers::simulator) struct Jobs {
    /// The failures of each Job, by its UID.
    backoffs: BTreeMap<String, Backoff>,
}

/// One step of a Job.
pub(super) struct Step<'a> {
    pub(super) handle: &'a Handle,
    pub(super) job: &'a Value,
    pub(super) spec: &'a Value,
    /// The status that is to be written.
    pub(super) status: Value,
    pub(super) pods: Vec<Arc<Value>>,
    pub(super) active: Vec<Arc<Value>>,
    pub(super) ready: i64,
    pub(super) terminating: i64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    /// The indexes that had succeeded before this step.
    pub(super) counted_indexes: Indexes,
    pub(super) succeeded_indexes: Indexes,
    /// Only with a back-off limit per index.
    pub(super) failed_indexes: Option<Indexes>,
    /// Failed Pods that wait for the Pod that replaces them, by their index.
    pub(super) replaced: BTreeMap<i64, Arc<Value>>,
    pub(super) backoff: Backoff,
    pub(super) end: Option<End>,
    /// When to look again.
    pub(super) next: Option<Duration>,
}

/// The condition that says how a Job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) kind: &'static str,
    pub(super) reason: String,
    pub(super) message: String,
}

impl End {
    fn failure(reason: &str, message: impl Into<String>) -> Self {
        Self {
            kind: "FailureTarget",
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// The condition of a finished Job.
pub(in crate::controllers::simulator) fn finish(job: &Value) -> Option<&Value> {
    let kinds = ["Complete", "Failed"];
    let mut finished = kinds.into_iter().filter(|kind| is_true(job, kind));
    condition(job, finished.next()?)
}

impl Jobs {
    pub(in crate::controllers::simulator) fn forget(&mut self, uid: &str) {
        self.backoffs.remove(uid);
    }

    /// Moves a Job one step forward. Returns the time until the next one.
    pub(in crate::controllers::simulator) fn reconcile(
        &mut self,
        handle: &Handle,
        job: &Value,
    ) -> Option<Duration> {
        let manager = job["spec"]["managedBy"].as_str();
        if manager.is_some_and(|manager| manager != "kubernetes.io/job-controller") {
            return None;
        }
        if finish(job).is_some() {
            self.forget(meta::uid(job));
            for pod in controlled(handle, job) {
                tracking::release_orphan(handle, &pod);
            }
            return ttl::expire(handle, job);
        }
        let namespace = meta::text(job, "namespace");
        let all = handle.list(&pods(), Some(namespace));
        let finalizer = Some(super::pod::FINALIZER);
        claim(handle, job, (&pods(), &all), finalizer, |pod| {
            is_selected(job, pod)
        });
        let uid = meta::uid(job);
        let backoff = self.backoffs.get(uid).copied().unwrap_or_default();
        let mut step = Step::new(handle, job, backoff);
        if step.run() {
            self.backoffs.insert(uid.to_owned(), step.backoff);
        }
        step.next
    }
}

impl<'a> Step<'a> {
    fn new(handle: &'a Handle, job: &'a Value, backoff: Backoff) -> Self {
        let pods = controlled(handle, job);
        let active: Vec<_> = pods.iter().filter(|pod| is_active(pod)).cloned().collect();
        let ready = active.iter().filter(|pod| is_true(pod, "Ready"));
        let going = |pod: &&Arc<Value>| meta::is_deleting(pod) && !has_ended(pod);
        let mut status = job["status"].clone();
        if !status.is_object() {
            status = json!({});
        }
        Self {
            handle,
            job,
            spec: &job["spec"],
            status,
            ready: count(ready),
            terminating: count(pods.iter().filter(going)),
            active,
            pods,
            succeeded: 0,
            failed: 0,
            counted_indexes: Indexes::default(),
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            replaced: BTreeMap::new(),
            backoff,
            end: None,
            next: None,
        }
    }

    /// Does the step. Returns whether the failures are counted.
    fn run(&mut self) -> bool {
        self.count_pods();
        if self.status.get("startTime").is_none() && !self.is_suspended() {
            self.status["startTime"] = json!(self.handle.core().clock.timestamp());
        }
        self.end = self.evaluate();
        let mut changed = false;
        let active = if self.end.is_some() {
            let active = std::mem::take(&mut self.active);
            let mut left = 0;
            for pod in active {
                if !pod_control::delete(self.handle, self.job, COMPONENT, &pod) {
                    left += 1;
                    continue;
                }
                self.terminating += 1;
                self.ready -= i64::from(is_true(&pod, "Ready"));
            }
            if left > 0 {
                self.end = None;
            }
            left
        } else {
            self.manage_and_evaluate(&mut changed)
        };
        changed |= number(&self.status, "/active") != active
            || self.status["ready"] != self.ready
            || self.status["terminating"] != self.terminating;
        set_count(&mut self.status, "active", active);
        self.status["ready"] = json!(self.ready);
        self.status["terminating"] = json!(self.terminating);
        self.track(changed)
    }

    /// Creates or deletes Pods. Then the Job may be complete or suspended. Returns the number of active Pods.
    fn manage_and_evaluate(&mut self, changed: &mut bool) -> i64 {
        let managed = !meta::is_deleting(self.job);
        let active = match managed {
            true => self.manage(),
            false => count(self.active.iter()),
        };
        let complete = match self.spec["completions"].as_i64() {
            Some(completions) => self.succeeded >= completions,
            None => self.succeeded > 0,
        };
        if complete && active == 0 {
            self.end = Some(End {
                kind: "SuccessCriteriaMet",
                reason: "CompletionsReached".into(),
                message: "Reached expected number of succeeded pods".into(),
            });
        } else if managed {
            *changed |= self.report_suspension();
        }
        active
    }

    /// Sets the condition `Suspended`. Returns whether it changed.
    fn report_suspension(&mut self) -> bool {
        let suspended = self.is_suspended();
        let (status, reason, message, event) = match suspended {
            true => ("True", "JobSuspended", "Job suspended", "Suspended"),
            false => ("False", "JobResumed", "Job resumed", "Resumed"),
        };
        if !self.set_condition("Suspended", status, reason, message) {
            return false;
        }
        // The time of a suspended Job does not count: it starts again.
        if suspended {
            if let Some(status) = self.status.as_object_mut() {
                status.remove("startTime");
            }
        } else {
            self.status["startTime"] = json!(self.handle.core().clock.timestamp());
        }
        self.record(false, event, message);
        true
    }

    /// Counts the Pods that ended since the last step.
    fn count_pods(&mut self) {
        let uncounted = |which: &str| {
            let list = self.status["uncountedTerminatedPods"][which].as_array();
            list.cloned().unwrap_or_default()
        };
        let new = |known: &[Value], ended: &dyn Fn(&Value) -> bool| -> Vec<Arc<Value>> {
            let is_new = |pod: &&Arc<Value>| {
                pod::is_tracked(pod)
                    && !known.iter().any(|uid| uid == meta::uid(pod))
                    && (!self.is_indexed() || self.index_of(pod).is_some())
                    && ended(pod)
            };
            self.pods.iter().filter(is_new).cloned().collect()
        };
        let (known_good, known_bad) = (uncounted("succeeded"), uncounted("failed"));
        let good = new(&known_good, &pod::succeeded);
        let bad = new(&known_bad, &|pod| self.has_failed(pod));
        let counts = |pod: &&Arc<Value>| policy::failure(self.spec, pod) != Verdict::Ignore;
        self.succeeded =
            number(&self.status, "/succeeded") + count(good.iter()) + count(known_good.iter());
        self.failed = number(&self.status, "/failed")
            + count(bad.iter().filter(counts))
            + count(known_bad.iter());
        let (good, bad) = (refs(&good), refs(&bad));
        self.backoff.count(&good, &bad);
    }

    /// How the Job ends, if it does.
    fn evaluate(&mut self) -> Option<End> {
        let object = json!({"status": self.status});
        let stated = |kind: &str| {
            let found = condition(&object, kind).filter(|found| found["status"] == "True");
            found.map(|found| (text(&found["reason"]), text(&found["message"])))
        };
        let mut end = None;
        if let Some((reason, message)) = stated("SuccessCriteriaMet") {
            end = Some(End {
                kind: "SuccessCriteriaMet",
                reason,
                message,
            });
        } else if let Some((reason, message)) = stated("FailureTarget") {
            end = Some(End {
                kind: "Failed",
                reason,
                message,
            });
        } else if let Some(message) = self.failed_by_policy() {
            end = Some(End::failure("PodFailurePolicy", message));
        }
        end = end.or_else(|| self.evaluate_limits());
        if self.is_indexed() {
            end = self.evaluate_indexes(end);
        }
        end
    }

    fn failed_by_policy(&self) -> Option<String> {
        let mut failed = self.pods.iter().filter(|pod| self.has_failed(pod));
        failed.find_map(|pod| match policy::failure(self.spec, pod) {
            Verdict::FailJob(message) => Some(message),
            _ => None,
        })
    }

    fn evaluate_limits(&mut self) -> Option<End> {
        let limit = number(self.spec, "/backoffLimit");
        if self.failed > limit || self.restarted_too_often(limit) {
            let message = "Job has reached the specified backoff limit";
            return Some(End::failure("BackoffLimitExceeded", message));
        }
        let deadline = self.spec["activeDeadlineSeconds"].as_u64()?;
        if self.is_suspended() {
            return None;
        }
        let age = since(self.handle, &self.status["startTime"])?;
        let rest = Duration::from_secs(deadline).saturating_sub(age);
        if rest.is_zero() {
            let message = "Job was active longer than specified deadline";
            return Some(End::failure("DeadlineExceeded", message));
        }
        self.look_again(rest);
        None
    }

    /// Whether containers that start again after a failure did so as often as the Job allows.
    fn restarted_too_often(&self, limit: i64) -> bool {
        if self.spec["template"]["spec"]["restartPolicy"] != "OnFailure" {
            return false;
        }
        let lists = ["initContainerStatuses", "containerStatuses"];
        let open = self.pods.iter().filter(|pod| !has_ended(pod));
        let statuses = open.flat_map(|pod| lists.map(|list| pod["status"][list].as_array()));
        let restarts = statuses.flatten().flatten();
        let restarts: i64 = restarts.map(|one| number(one, "/restartCount")).sum();
        restarts > 0 && restarts >= limit
    }

    fn evaluate_indexes(&mut self, end: Option<End>) -> Option<End> {
        let completions = number(self.spec, "/completions");
        let parsed = |field: &str| {
            let text = self.status[field].as_str().unwrap_or_default();
            Indexes::parse(text, completions)
        };
        let succeeded = self.pods.iter().filter(|pod| pod::succeeded(pod));
        let new: Vec<i64> = succeeded.filter_map(|pod| self.index_of(pod)).collect();
        self.counted_indexes = parsed("completedIndexes");
        self.succeeded_indexes = self.counted_indexes.clone();
        for index in new {
            self.succeeded_indexes.insert(index);
        }
        self.succeeded = self.succeeded_indexes.count();
        let mut end = end;
        if let Some(limit) = self.spec["backoffLimitPerIndex"].as_i64() {
            let mut failed = parsed("failedIndexes");
            for pod in &self.pods {
                if let Some(index) = self.index_of(pod)
                    && pod::is_tracked(pod)
                    && self.index_has_failed(pod, limit)
                {
                    failed.insert(index);
                }
            }
            let done = failed.count() + self.succeeded_indexes.count();
            let allowed = self.spec["maxFailedIndexes"].as_i64();
            if end.is_none() && allowed.is_some_and(|allowed| failed.count() > allowed) {
                let message = "Job has exceeded the specified maximal number of failed indexes";
                end = Some(End::failure("MaxFailedIndexesExceeded", message));
            } else if end.is_none() && failed.count() > 0 && done >= completions {
                end = Some(End::failure("FailedIndexes", "Job has failed indexes"));
            }
            self.failed_indexes = Some(failed);
            self.replaced = self.find_replaced();
        }
        let met = || {
            let message = policy::success(self.spec, &self.succeeded_indexes)?;
            Some(End {
                kind: "SuccessCriteriaMet",
                reason: "SuccessPolicy".into(),
                message,
            })
        };
        end.or_else(met)
    }

    fn index_has_failed(&self, pod: &Value, limit: i64) -> bool {
        let at_limit = pod::count(pod, pod::INDEX_FAILURES) >= limit;
        self.has_failed(pod)
            && match policy::failure(self.spec, pod) {
                Verdict::FailIndex => true,
                Verdict::Ignore => false,
                Verdict::Count | Verdict::FailJob(_) => at_limit,
            }
    }

    /// The last failed Pod of each index that is neither done nor running.
    fn find_replaced(&self) -> BTreeMap<i64, Arc<Value>> {
        let mut replaced: BTreeMap<i64, Arc<Value>> = BTreeMap::new();
        let failures = |pod: &Value| {
            let counts = [pod::INDEX_FAILURES, pod::INDEX_IGNORED];
            let sum: i64 = counts.iter().map(|name| pod::count(pod, name)).sum();
            (sum, pod::finished_at(pod))
        };
        for pod in &self.pods {
            let Some(index) = self.index_of(pod) else {
                continue;
            };
            let done = self.succeeded_indexes.contains(index)
                || (self.failed_indexes.as_ref()).is_some_and(|failed| failed.contains(index))
                || (self.active.iter()).any(|active| pod::index(active) == Some(index));
            if done || !pod::is_tracked(pod) || !self.has_failed(pod) {
                continue;
            }
            let known = replaced.get(&index);
            if known.is_none_or(|known| failures(known) <= failures(pod)) {
                replaced.insert(index, pod.clone());
            }
        }
        replaced
    }

    pub(super) fn is_indexed(&self) -> bool {
        self.spec["completionMode"] == "Indexed"
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.spec["suspend"] == true
    }

    /// Whether a Pod is replaced only after it has ended, and not once it is being deleted.
    pub(super) fn only_replaces_failed(&self) -> bool {
        self.spec["podReplacementPolicy"] == "Failed" || self.spec["podFailurePolicy"].is_object()
    }

    /// The index of a Pod, if the Job has it.
    pub(super) fn index_of(&self, pod: &Value) -> Option<i64> {
        let end = number(self.spec, "/completions");
        pod::index(pod).filter(|index| *index < end)
    }

    pub(super) fn has_failed(&self, pod: &Value) -> bool {
        let gone = meta::is_deleting(pod) && !pod::succeeded(pod);
        pod["status"]["phase"] == "Failed" || gone && !self.only_replaces_failed()
    }

    pub(super) fn look_again(&mut self, after: Duration) {
        self.next = Some(self.next.map_or(after, |next| next.min(after)));
    }

    /// Sets a condition of the status. Returns whether it changed. A condition that is false is not added.
    pub(super) fn set_condition(
        &mut self,
        kind: &str,
        status: &str,
        reason: &str,
        message: &str,
    ) -> bool {
        let now = self.handle.core().clock.timestamp();
        let new = json!({
            "type": kind,
            "status": status,
            "lastProbeTime": now,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        });
        if !self.status["conditions"].is_array() {
            self.status["conditions"] = json!([]);
        }
        let conditions = self.status["conditions"].as_array_mut();
        let Some(conditions) = conditions else {
            return false;
        };
        let old = conditions.iter_mut().find(|old| old["type"] == kind);
        match old {
            Some(old) => {
                let fields = ["status", "reason", "message"];
                let same = fields.iter().all(|field| old[field] == new[field]);
                if !same {
                    *old = new;
                }
                !same
            }
            None if status == "False" => false,
            None => {
                conditions.push(new);
                true
            }
        }
    }

    pub(super) fn write_status(&self) {
        update(self.handle, &jobs(), self.job, "status", |job| {
            let mut status = self.status.clone();
            if let Some(fields) = status.as_object_mut() {
                fields.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
            }
            job["status"] = status;
        });
    }

    pub(super) fn record(&self, warning: bool, reason: &str, message: &str) {
        let what = Message {
            component: COMPONENT,
            warning,
            reason,
        };
        events::record(self.handle, self.job, what, message);
    }
}

pub(super) fn count<T>(items: impl Iterator<Item = T>) -> i64 {
    i64::try_from(items.count()).unwrap_or(i64::MAX)
}

fn refs(pods: &[Arc<Value>]) -> Vec<&Value> {
    pods.iter().map(AsRef::as_ref).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
