use std::time::Duration;

use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::object::{controller_reference, is_true, number, resource_of, set_count, update};
use super::pod_control;
use crate::api::Handle;
use crate::builtin::selects;
use crate::meta;

/// The pause before the next try to create a Pod that was refused, for example because of a quota.
const RETRY: Duration = Duration::from_secs(5);

/// Creates or deletes the Pods of a ReplicaSet or a ReplicationController, and reports counts. Returns the time until the next one.
pub(super) fn reconcile(handle: &Handle, set: &Value) -> Option<Duration> {
    let component = match set["kind"] == "ReplicaSet" {
        true => "replicaset-controller",
        false => "replication-controller",
    };
    let mut failure = None;
    if !meta::is_deleting(set) {
        let mut live = pod_control::controlled(handle, set);
        live.retain(|pod| pod_control::is_active(pod));
        let wanted = usize::try_from(number(set, "/spec/replicas")).unwrap_or_default();
        for _ in live.len()..wanted {
            let pod = pod_control::from_template(set, &set["spec"]["template"]);
            if let Err(error) = pod_control::create(handle, set, component, pod) {
                failure = Some(error.to_string());
                break;
            }
        }
        if live.len() > wanted {
            live.sort_by_cached_key(|pod| pod_control::by_use(pod));
            for pod in live.split_off(wanted) {
                pod_control::delete(handle, set, component, &pod);
            }
        }
    }
    let next = report(handle, set, failure.as_deref());
    match failure {
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
