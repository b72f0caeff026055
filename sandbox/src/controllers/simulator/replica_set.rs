use std::time::Duration;

use serde_json::{Value, json};

use super::object::{controller_reference, is_true, number, resource_of, set_count, update};
use super::pod_control;
use crate::api::Handle;
use crate::builtin::selects;
use crate::meta;

/// Creates or deletes the Pods of a ReplicaSet or a ReplicationController, and reports counts. Returns the time until the next one.
pub(super) fn reconcile(handle: &Handle, set: &Value) -> Option<Duration> {
    let component = match set["kind"] == "ReplicaSet" {
        true => "replicaset-controller",
        false => "replication-controller",
    };
    if !meta::is_deleting(set) {
        let mut live = pod_control::controlled(handle, set);
        live.retain(|pod| pod_control::is_active(pod));
        let wanted = usize::try_from(number(set, "/spec/replicas")).unwrap_or_default();
        for _ in live.len()..wanted {
            let pod = pod_control::from_template(set, &set["spec"]["template"]);
            if pod_control::create(handle, set, component, pod).is_err() {
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
    report(handle, set)
}

fn report(handle: &Handle, set: &Value) -> Option<Duration> {
    let now = handle.core().clock.now();
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
    });
    soonest
}
