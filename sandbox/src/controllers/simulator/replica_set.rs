use std::time::Duration;

use serde_json::{Value, json};

use super::object::{is_true, number, replica_sets, set_count};
use super::pod_control;
use crate::api::Handle;
use crate::builtin::selects;
use crate::meta;

const COMPONENT: &str = "replicaset-controller";

/// Creates or deletes Pods and reports counts. Returns the time until the next one.
pub(super) fn reconcile(handle: &Handle, set: &Value) -> Option<Duration> {
    if !meta::is_deleting(set) {
        let mut live = pod_control::controlled(handle, set);
        live.retain(|pod| pod_control::is_active(pod));
        let wanted = usize::try_from(number(set, "/spec/replicas")).unwrap_or_default();
        for _ in live.len()..wanted {
            let pod = pod_control::from_template(set, &set["spec"]["template"]);
            if pod_control::create(handle, set, COMPONENT, pod).is_err() {
                break;
            }
        }
        if live.len() > wanted {
            live.sort_by_cached_key(|pod| pod_control::by_use(pod));
            for pod in live.split_off(wanted) {
                pod_control::delete(handle, set, COMPONENT, &pod);
            }
        }
    }
    report(handle, set)
}

fn report(handle: &Handle, set: &Value) -> Option<Duration> {
    let (namespace, name) = (meta::text(set, "namespace"), meta::name(set));
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
    let uid = meta::uid(set);
    let changed = handle.update(&replica_sets(), Some(namespace), name, "status", |set| {
        if meta::uid(set) != uid {
            return;
        }
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
    if let Err(error) = changed {
        tracing::debug!(%namespace, %name, %error, "the simulator cannot write the status of the ReplicaSet");
    }
    soonest
}
