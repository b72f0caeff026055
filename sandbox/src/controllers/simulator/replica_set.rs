use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::object::{
    condition, controller_reference, is_controlled_by, is_true, number, pods, replica_sets,
    set_count,
};
use crate::api::{DeleteOptions, Handle};
use crate::builtin::selects;
use crate::meta;

/// Creates or deletes Pods and reports counts. Returns the time until the next one.
pub(super) fn reconcile(handle: &Handle, set: &Value) -> Option<Duration> {
    let namespace = meta::text(set, "namespace");
    let mut live: Vec<Arc<Value>> = handle
        .list(&pods(), Some(namespace))
        .into_iter()
        .filter(|pod| is_controlled_by(pod, set) && !meta::is_deleting(pod))
        .filter(|pod| {
            !matches!(
                pod["status"]["phase"].as_str(),
                Some("Succeeded" | "Failed")
            )
        })
        .collect();
    if !meta::is_deleting(set) {
        let wanted = usize::try_from(number(set, "/spec/replicas")).unwrap_or_default();
        for _ in live.len()..wanted {
            create(handle, set);
        }
        if live.len() > wanted {
            // The least useful Pods go first: those that are not ready, then the youngest.
            live.sort_by_key(|pod| {
                let age = meta::text(pod, "creationTimestamp").to_owned();
                (!is_true(pod, "Ready"), age, meta::name(pod).to_owned())
            });
            for pod in live.split_off(wanted) {
                delete(handle, &pod);
            }
        }
    }
    report(handle, set)
}

fn create(handle: &Handle, set: &Value) {
    let mut template = set.pointer("/spec/template").cloned().unwrap_or_default();
    let metadata = &mut template["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata["generateName"] = json!(format!("{}-", meta::name(set)));
    metadata["namespace"] = json!(meta::text(set, "namespace"));
    metadata["ownerReferences"] = json!([controller_reference(set)]);
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata.clone(),
        "spec": template["spec"],
    });
    if let Err(error) = handle.create(&pods(), pod) {
        tracing::debug!(set = meta::name(set), %error, "the simulator cannot create the Pod");
    }
}

fn delete(handle: &Handle, pod: &Value) {
    let options = DeleteOptions {
        uid: Some(meta::uid(pod).to_owned()),
        ..DeleteOptions::default()
    };
    let namespace = meta::text(pod, "namespace");
    if let Err(error) = handle.delete(&pods(), Some(namespace), meta::name(pod), &options) {
        tracing::debug!(pod = meta::name(pod), %error, "the simulator cannot delete the Pod");
    }
}

fn report(handle: &Handle, set: &Value) -> Option<Duration> {
    let (namespace, name) = (meta::text(set, "namespace"), meta::name(set));
    let now = handle.core().clock.now();
    let minimum = number(set, "/spec/minReadySeconds");
    let template = set.pointer("/spec/template/metadata/labels");
    let (mut all, mut labeled, mut ready, mut available) = (0, 0, 0, 0);
    let mut soonest: Option<Duration> = None;
    for pod in handle.list(&pods(), Some(namespace)) {
        if !is_controlled_by(&pod, set) || meta::is_deleting(&pod) {
            continue;
        }
        all += 1;
        let labels = json!({"matchLabels": template});
        labeled += i64::from(selects(&labels, &pod["metadata"]["labels"]));
        if !is_true(&pod, "Ready") {
            continue;
        }
        ready += 1;
        match wait(&pod, minimum, now) {
            None => available += 1,
            Some(rest) => soonest = Some(soonest.map_or(rest, |soonest| soonest.min(rest))),
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

/// How long a ready Pod must still stay ready until it counts as available.
fn wait(pod: &Value, minimum: i64, now: Timestamp) -> Option<Duration> {
    if minimum <= 0 {
        return None;
    }
    let since = condition(pod, "Ready")?["lastTransitionTime"].as_str()?;
    let since: Timestamp = since.parse().ok()?;
    let rest = SignedDuration::from_secs(minimum) - now.duration_since(since);
    Duration::try_from(rest).ok().filter(|rest| !rest.is_zero())
}
