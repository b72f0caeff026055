use std::time::Duration;

use serde_json::{Value, json};

use super::claim::{claim, is_selected};
use super::conditions::{self, Condition};
use super::object::{controller_reference, is_true, number, pods, resource_of, set_count, update};
use super::pod_control;
use crate::api::Handle;
use crate::builtin::selects;
use crate::meta;

/// The pause before the next try to create a Pod that was refused, for example because of a quota.
const RETRY: Duration = Duration::from_secs(5);

/// The most Pods that one step creates or deletes, so that other objects have their turn.
const MOST: usize = 500;

/// Creates or deletes the Pods of a ReplicaSet or a ReplicationController, and reports counts. Returns the time until the next one.
pub(super) fn reconcile(handle: &Handle, set: &Value) -> Option<Duration> {
    let component = match set["kind"] == "ReplicaSet" {
        true => "replicaset-controller",
        false => "replication-controller",
    };
    let mut failure = None;
    let mut is_done = true;
    if !meta::is_deleting(set) {
        let namespace = meta::text(set, "namespace");
        let mut active = handle.list(&pods(), Some(namespace));
        active.retain(|pod| pod_control::is_active(pod));
        claim(handle, set, (&pods(), &active), None, |pod| {
            is_selected(set, pod)
        });
        let mut live = pod_control::controlled(handle, set);
        live.retain(|pod| pod_control::is_active(pod));
        let count = live.len();
        let wanted = usize::try_from(number(set, "/spec/replicas")).unwrap_or_default();
        let missing = wanted.saturating_sub(count);
        for _ in 0..missing.min(MOST) {
            let pod = pod_control::from_template(set, &set["spec"]["template"]);
            if let Err(error) = pod_control::create(handle, set, component, pod) {
                failure = Some(error.to_string());
                break;
            }
        }
        if count > wanted {
            live.sort_by_cached_key(|pod| pod_control::by_use(pod));
            // The least useful ones go.
            for pod in live.split_off(wanted.max(count.saturating_sub(MOST))) {
                pod_control::delete(handle, set, component, &pod);
            }
        }
        is_done = wanted.abs_diff(count) <= MOST;
    }
    let next = report(handle, set, failure.as_deref());
    match failure {
        // The rest follows with the next step.
        None if !is_done => Some(Duration::ZERO),
        Some(_) => Some(next.map_or(RETRY, |next| next.min(RETRY))),
        None => next,
    }
}

/// `failure` is the reason why a Pod could not be created.
fn report(handle: &Handle, set: &Value, failure: Option<&str>) -> Option<Duration> {
    let now = handle.core().clock.now();
    let time = handle.core().clock.timestamp();
    let minimum = number(set, "/spec/minReadySeconds");
    let template = set.pointer("/spec/template/metadata/labels");
    let (mut all, mut labeled, mut ready, mut available) = (0, 0, 0, 0);
    let mut soonest: Option<Duration> = None;
    for pod in pod_control::controlled(handle, set) {
        if meta::is_deleting(&pod) {
            continue;
        }
        all += 1;
        let labels = json!({"matchLabels": template});
        labeled += i64::from(selects(&labels, &pod["metadata"]["labels"]));
        if !is_true(&pod, "Ready") {
            continue;
        }
        ready += 1;
        match pod_control::available_in(&pod, minimum, now) {
            Some(Duration::ZERO) => available += 1,
            Some(rest) => soonest = Some(soonest.map_or(rest, |soonest| soonest.min(rest))),
            None => {}
        }
    }
    let generation = set["metadata"]["generation"].clone();
    let resource = resource_of(handle, &controller_reference(set))?;
    update(handle, &resource, set, "status", |set| {
        let status = &mut set["status"];
        if !status.is_object() {
            *status = json!({});
        }
        // The number of replicas is always present.
        status["replicas"] = json!(all);
        set_count(status, "fullyLabeledReplicas", labeled);
        set_count(status, "readyReplicas", ready);
        set_count(status, "availableReplicas", available);
        status["observedGeneration"] = generation.clone();
        show_failure(status, failure, &time);
    });
    soonest
}

fn show_failure(status: &mut Value, failure: Option<&str>, now: &str) {
    const KIND: &str = "ReplicaFailure";
    let known = status.get_mut("conditions").and_then(Value::as_array_mut);
    let shown = known.as_ref().is_some_and(|known| {
        let mut known = known.iter();
        known.any(|condition| condition["type"] == KIND)
    });
    if let Some(message) = failure {
        // Each try has another generated name in its message. A change of the status would be a reason for another try.
        if shown {
            return;
        }
        let condition = Condition {
            kind: KIND,
            status: "True",
            reason: "FailedCreate",
            message: message.to_owned(),
        };
        conditions::set(status, &condition, false, now);
        return;
    }
    let Some(known) = known.filter(|_| shown) else {
        return;
    };
    known.retain(|condition| condition["type"] != KIND);
    if known.is_empty()
        && let Some(status) = status.as_object_mut()
    {
        status.remove("conditions");
    }
}
