use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::backoff::Backoff;
use super::jobs::{Step, count};
use super::policy::{self, Verdict};
use super::{COMPONENT, pod, tracking};
use crate::controllers::simulator::object::{is_true, number};
use crate::controllers::simulator::pod_control::{self, by_use};
use crate::meta;

/// The most Pods that one step creates or deletes.
const MOST: usize = 500;

impl Step<'_> {
    /// Creates or deletes Pods. Returns the number of active ones afterwards.
    pub(super) fn manage(&mut self) -> i64 {
        let active = count(self.active.iter());
        if self.is_suspended() {
            let all = self.active.clone();
            return active - self.remove(&all);
        }
        let parallelism = number(self.spec, "/parallelism");
        let wanted = match self.spec["completions"].as_i64() {
            Some(completions) => (completions - self.succeeded).clamp(0, parallelism.max(0)),
            None if self.succeeded > 0 => active,
            None => parallelism,
        };
        let superfluous = self.superfluous(wanted);
        if !superfluous.is_empty() {
            return active - self.remove(&superfluous);
        }
        let leaving = match self.only_replaces_failed() {
            true => self.terminating,
            false => 0,
        };
        let missing = usize::try_from(wanted - leaving - active).unwrap_or_default();
        if missing == 0 {
            return active;
        }
        let now = self.handle.core().clock.now();
        // With a limit per index each index has a back-off of its own.
        let per_index = self.failed_indexes.is_some();
        if !per_index && let Some(rest) = self.backoff.rest(now) {
            self.look_again(rest);
            return active;
        }
        let missing = missing.min(MOST);
        let created = if self.is_indexed() {
            let mut created = 0;
            for index in self.pending(missing) {
                let replaced = self.replaced.get(&index).cloned();
                if let Some(rest) = replaced.as_deref().and_then(|pod| rest_of_index(pod, now)) {
                    self.look_again(rest);
                    continue;
                }
                let made = self.indexed_pod(index, replaced.as_deref());
                if !self.create(made) {
                    break;
                }
                created += 1;
            }
            created
        } else {
            let template = &self.spec["template"];
            let made = || pod_control::from_template(self.job, template);
            let created = (0..missing).take_while(|_| self.create(made()));
            count(created)
        };
        active + created
    }

    fn create(&self, mut made: Value) -> bool {
        let mut finalizers: Vec<String> = meta::finalizers(&made)
            .into_iter()
            .map(str::to_owned)
            .collect();
        if !pod::is_tracked(&made) {
            finalizers.push(pod::FINALIZER.to_owned());
        }
        meta::set_finalizers(&mut made, finalizers);
        pod_control::create(self.handle, self.job, COMPONENT, made).is_ok()
    }

    /// The Pod of an index. `replaced` is the failed Pod in whose place it comes.
    fn indexed_pod(&self, index: i64, replaced: Option<&Value>) -> Value {
        let mut made = pod_control::from_template(self.job, &self.spec["template"]);
        let name = meta::name(self.job);
        made["metadata"]["generateName"] = json!(format!("{name}-{index}-"));
        for field in ["annotations", "labels"] {
            if !made["metadata"][field].is_object() {
                made["metadata"][field] = json!({});
            }
            made["metadata"][field][pod::INDEX] = json!(index.to_string());
        }
        made["spec"]["hostname"] = json!(format!("{name}-{index}"));
        for list in ["initContainers", "containers"] {
            let containers = made["spec"].get_mut(list).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                add_index_variable(container);
            }
        }
        if self.failed_indexes.is_some() {
            let mut failures = replaced.map_or(0, |old| pod::count(old, pod::INDEX_FAILURES));
            let mut ignored = replaced.map_or(0, |old| pod::count(old, pod::INDEX_IGNORED));
            if let Some(old) = replaced {
                match policy::failure(self.spec, old) {
                    Verdict::Ignore => ignored += 1,
                    _ => failures += 1,
                }
            }
            let annotations = &mut made["metadata"]["annotations"];
            annotations[pod::INDEX_FAILURES] = json!(failures.to_string());
            if ignored > 0 {
                annotations[pod::INDEX_IGNORED] = json!(ignored.to_string());
            }
        }
        made
    }

    /// The first indexes without a Pod.
    fn pending(&self, limit: usize) -> Vec<i64> {
        let mut taken: BTreeSet<i64> = self.active.iter().filter_map(|p| pod::index(p)).collect();
        if self.only_replaces_failed() {
            let going = self
                .pods
                .iter()
                .filter(|pod| meta::is_deleting(pod) && !pod_control::has_ended(pod));
            taken.extend(going.filter_map(|p| pod::index(p)));
        }
        let end = number(self.spec, "/completions");
        let failed = self.failed_indexes.clone().unwrap_or_default();
        let mut pending = Vec::new();
        let mut index = 0;
        while pending.len() < limit {
            let next = failed.first_missing(self.succeeded_indexes.first_missing(index));
            if next >= end {
                break;
            }
            let free = next == index && !taken.contains(&next);
            if free {
                pending.push(next);
            }
            index = if next == index { index + 1 } else { next };
        }
        pending
    }

    /// Active Pods that the Job does not need: those without an index that it has, all but one of an index, and those that are
    /// more than `wanted`.
    fn superfluous(&self, wanted: i64) -> Vec<Arc<Value>> {
        let mut active = self.active.clone();
        active.sort_by_cached_key(|pod| by_use(pod));
        let mut superfluous = Vec::new();
        if self.is_indexed() {
            let mut seen = BTreeSet::new();
            active.retain(|pod| {
                let keep = self.index_of(pod).is_some_and(|index| seen.insert(index));
                if !keep {
                    superfluous.push(pod.clone());
                }
                keep
            });
        }
        let wanted = usize::try_from(wanted).unwrap_or_default();
        if active.len() > wanted {
            superfluous.extend(active.split_off(wanted));
        }
        superfluous.truncate(MOST);
        superfluous
    }

    /// Deletes Pods without counting them as failed. Returns how many.
    fn remove(&mut self, pods: &[Arc<Value>]) -> i64 {
        let mut removed = 0;
        for pod in pods {
            tracking::remove_finalizer(self.handle, pod);
            if pod_control::delete(self.handle, self.job, COMPONENT, pod) {
                removed += 1;
                self.ready -= i64::from(is_true(pod, "Ready"));
            }
        }
        self.terminating += removed;
        removed
    }
}

/// How long the index of a failed Pod gets no new one.
fn rest_of_index(pod: &Value, now: jiff::Timestamp) -> Option<std::time::Duration> {
    let failures = pod::count(pod, pod::INDEX_FAILURES) + pod::count(pod, pod::INDEX_IGNORED) + 1;
    let backoff = Backoff {
        failures: u32::try_from(failures).unwrap_or(u32::MAX),
        last: pod::finished_at(pod),
    };
    backoff.rest(now)
}

/// Lets a container know its index.
fn add_index_variable(container: &mut Value) {
    const NAME: &str = "JOB_COMPLETION_INDEX";
    let Some(fields) = container.as_object_mut() else {
        return;
    };
    let variables = fields.entry("env").or_insert_with(|| json!([]));
    let Some(variables) = variables.as_array_mut() else {
        return;
    };
    if variables.iter().all(|variable| variable["name"] != NAME) {
        let path = format!("metadata.labels['{}']", pod::INDEX);
        variables.push(json!({"name": NAME, "valueFrom": {"fieldRef": {"fieldPath": path}}}));
    }
}
