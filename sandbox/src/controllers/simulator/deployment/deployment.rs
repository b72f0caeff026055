use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::rollout::{Share, Strategy, bound, step};
use super::{annotations, status};
use crate::api::{DeleteOptions, Handle};
use crate::controllers::simulator::claim::{claim, is_selected};
use crate::controllers::simulator::events::{self, Message};
use crate::controllers::simulator::object::{
    controller_reference, deployments, hash_name, is_controlled_by, number, pods, replica_sets,
    revision, set_count,
};
use crate::meta;

const COMPONENT: &str = "deployment-controller";
const HASH: &str = "pod-template-hash";
/// The pause before the next try to create a ReplicaSet that was refused.
const RETRY: Duration = Duration::from_secs(5);

/// Moves a Deployment one step forward and reports its status. Returns the time until the next one.
pub(in crate::controllers::simulator) fn reconcile(
    handle: &Handle,
    deployment: &Value,
) -> Option<Duration> {
    let namespace = meta::text(deployment, "namespace");
    let all = handle.list(&replica_sets(), Some(namespace));
    claim(handle, deployment, (&replica_sets(), &all), None, |set| {
        is_selected(deployment, set)
    });
    let mut old = replica_sets_of(handle, deployment);
    let mut new = newest(deployment, &old).map(|at| old.remove(at));
    if meta::is_deleting(deployment) {
        return status::report(handle, deployment, new.as_deref(), &old, None);
    }
    let paused = deployment.pointer("/spec/paused") == Some(&Value::Bool(true));
    let mut failure = None;
    if new.is_none() && !paused {
        match create(handle, deployment, &old) {
            Ok(made) => new = made,
            Err(why) => failure = Some(why),
        }
    }
    if let Some(found) = &mut new {
        synchronize(handle, deployment, found, &old);
    }
    if paused {
        scale_paused(handle, deployment, new.as_deref(), &old);
    } else {
        if let Some(new) = &new {
            roll(handle, deployment, new, &old);
        }
        clean_up(handle, deployment, &old);
    }
    // The state after the writes above.
    let mut old = replica_sets_of(handle, deployment);
    let new = newest(deployment, &old).map(|at| old.remove(at));
    let next = status::report(handle, deployment, new.as_deref(), &old, failure.as_deref());
    match failure {
        Some(_) => Some(next.map_or(RETRY, |next| next.min(RETRY))),
        None => next,
    }
}

/// The ReplicaSets of a Deployment, by revision.
fn replica_sets_of(handle: &Handle, deployment: &Value) -> Vec<Arc<Value>> {
    let namespace = meta::text(deployment, "namespace");
    let mut sets: Vec<Arc<Value>> = handle
        .list(&replica_sets(), Some(namespace))
        .into_iter()
        .filter(|set| is_controlled_by(set, deployment))
        .collect();
    sets.sort_by_key(|set| revision(set));
    sets
}

/// The index of the ReplicaSet with the template of the Deployment.
fn newest(deployment: &Value, sets: &[Arc<Value>]) -> Option<usize> {
    let template = deployment.pointer("/spec/template");
    sets.iter().position(|set| {
        let mut own = set.pointer("/spec/template").cloned().unwrap_or_default();
        let labels = own
            .pointer_mut("/metadata/labels")
            .and_then(Value::as_object_mut);
        if let Some(labels) = labels {
            labels.remove(HASH);
        }
        Some(&own) == template
    })
}

/// A hash of a template. Another value of `collisions` gives another hash.
fn hash(template: &Value, collisions: i64) -> String {
    let text = format!(
        "{template}{}",
        if collisions > 0 {
            collisions.to_string()
        } else {
            String::new()
        }
    );
    hash_name(&text)
}

/// Creates the ReplicaSet with the present template. Returns `None` if this will be tried again because something changes.
///
/// # Errors
/// The reason why it was refused.
fn create(
    handle: &Handle,
    deployment: &Value,
    old: &[Arc<Value>],
) -> Result<Option<Arc<Value>>, String> {
    let template = &deployment["spec"]["template"];
    let hash = hash(template, number(deployment, "/status/collisionCount"));
    let (namespace, name) = (meta::text(deployment, "namespace"), meta::name(deployment));
    let mut template = template.clone();
    template["metadata"]["labels"][HASH] = json!(hash);
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = json!(hash);
    let mut spec = json!({"replicas": 0, "selector": selector, "template": template});
    let ready = number(deployment, "/spec/minReadySeconds");
    if ready > 0 {
        spec["minReadySeconds"] = json!(ready);
    }
    let next = latest(old) + 1;
    let mut annotations = annotations::of_new(deployment, &Value::Null, next);
    annotations::set_size(deployment, &mut annotations);
    let full = format!("{name}-{hash}");
    let set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": full,
            "namespace": namespace,
            "labels": template["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": spec,
    });
    match handle.create(&replica_sets(), set) {
        Ok(set) => Ok(Some(Arc::new(set))),
        Err(error) if error.is_waiting() => Ok(None),
        Err(error) if error.code == 409 => {
            // Another ReplicaSet has that name. This write causes the next reconcile, which uses another hash.
            let _ = handle.update(
                &deployments(),
                Some(namespace),
                name,
                "status",
                |deployment| {
                    let count = number(deployment, "/status/collisionCount") + 1;
                    deployment["status"]["collisionCount"] = json!(count);
                },
            );
            Ok(None)
        }
        // Its namespace is about to be deleted.
        Err(error) if error.has_cause("NamespaceTerminating") => Ok(None),
        Err(error) => {
            let why = format!("Failed to create new replica set {full:?}: {error}");
            record(handle, deployment, status::CREATE_ERROR, &why);
            Err(why)
        }
    }
}

/// The latest revision of these ReplicaSets.
fn latest(sets: &[Arc<Value>]) -> i64 {
    let revisions = sets.iter().map(|set| revision(set));
    revisions.max().unwrap_or_default()
}

/// Gives the ReplicaSet with the present template the annotations of its Deployment, and the latest revision if it is used again (a
/// roll-back).
fn synchronize(handle: &Handle, deployment: &Value, new: &mut Arc<Value>, old: &[Arc<Value>]) {
    let next = latest(old) + 1;
    let ready = number(deployment, "/spec/minReadySeconds");
    let of = |set: &Value| annotations::of_new(deployment, &set["metadata"]["annotations"], next);
    let found: &Value = new;
    let known = found["metadata"]["annotations"].as_object();
    if known == Some(&of(found)) && number(found, "/spec/minReadySeconds") == ready {
        return;
    }
    let changed = update(handle, new, |set| {
        set["metadata"]["annotations"] = of(set).into();
        set_count(&mut set["spec"], "minReadySeconds", ready);
    });
    if let Some(changed) = changed {
        *new = Arc::new(changed);
    }
}

fn roll(handle: &Handle, deployment: &Value, new: &Value, old: &[Arc<Value>]) {
    let desired = number(deployment, "/spec/replicas");
    let update = &deployment["spec"]["strategy"]["rollingUpdate"];
    let strategy = if deployment["spec"]["strategy"]["type"] == "Recreate" {
        Strategy::Recreate
    } else {
        let surge = bound(&update["maxSurge"], desired, true);
        let unavailable = bound(&update["maxUnavailable"], desired, false).min(desired);
        Strategy::Rolling {
            surge,
            // With both at zero no step would be possible.
            unavailable: if surge == 0 {
                unavailable.max(1)
            } else {
                unavailable
            },
        }
    };
    let share = |set: &Value| Share {
        desired_replicas: number(set, "/spec/replicas"),
        existing: existing(handle, set),
        available: number(set, "/status/availableReplicas"),
    };
    let shares: Vec<Share> = old.iter().map(|set| share(set)).collect();
    let (grown, rest) = step(strategy, desired, &share(new), &shares);
    scale(handle, deployment, new, grown);
    for (set, replicas) in old.iter().zip(rest) {
        scale(handle, deployment, set, replicas);
    }
}

/// The number of Pods of a ReplicaSet, including those that are being deleted.
fn existing(handle: &Handle, set: &Value) -> i64 {
    let namespace = meta::text(set, "namespace");
    let pods = handle.list(&pods(), Some(namespace));
    let count = pods.iter().filter(|pod| is_controlled_by(pod, set)).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Scales a paused Deployment without a roll-out: only the latest ReplicaSet with Pods grows or shrinks.
fn scale_paused(handle: &Handle, deployment: &Value, new: Option<&Value>, old: &[Arc<Value>]) {
    let desired = number(deployment, "/spec/replicas");
    let mut all: Vec<&Value> = old.iter().map(AsRef::as_ref).collect();
    all.extend(new);
    all.sort_by_key(|set| revision(set));
    let active = all
        .iter()
        .rev()
        .find(|set| number(set, "/spec/replicas") > 0);
    let Some(active) = active.or(all.last()) else {
        return;
    };
    let others: i64 = all
        .iter()
        .filter(|set| meta::uid(set) != meta::uid(active))
        .map(|set| number(set, "/spec/replicas"))
        .sum();
    scale(handle, deployment, active, (desired - others).max(0));
}

fn scale(handle: &Handle, deployment: &Value, set: &Value, replicas: i64) {
    let before = number(set, "/spec/replicas");
    let is_outdated = replicas > 0 && annotations::is_of_other_size(deployment, set);
    if before == replicas && !is_outdated {
        return;
    }
    let scaled = update(handle, set, |set| {
        set["spec"]["replicas"] = json!(replicas);
        let known = set["metadata"]["annotations"].as_object();
        let mut annotations = known.cloned().unwrap_or_default();
        annotations::set_size(deployment, &mut annotations);
        set["metadata"]["annotations"] = annotations.into();
    });
    if scaled.is_some() && before != replicas {
        let way = if before < replicas { "up" } else { "down" };
        let name = meta::name(set);
        let text = format!("Scaled {way} replica set {name} from {before} to {replicas}");
        record(handle, deployment, "ScalingReplicaSet", &text);
    }
}

fn record(handle: &Handle, deployment: &Value, reason: &str, text: &str) {
    let message = Message {
        component: COMPONENT,
        warning: reason == status::CREATE_ERROR,
        reason,
    };
    events::record(handle, deployment, message, text);
}

/// Changes a ReplicaSet. Returns `None` if that fails.
fn update(handle: &Handle, set: &Value, mut change: impl FnMut(&mut Value)) -> Option<Value> {
    let (namespace, name) = (meta::text(set, "namespace"), meta::name(set));
    let uid = meta::uid(set);
    let updated = handle.update(&replica_sets(), Some(namespace), name, "", |set| {
        if meta::uid(set) == uid {
            change(set);
        }
    });
    match updated {
        Ok(set) => Some(set),
        Err(error) => {
            tracing::debug!(%namespace, %name, %error, "the simulator cannot change the ReplicaSet");
            None
        }
    }
}

/// Deletes the oldest ReplicaSets without Pods beyond the history limit.
fn clean_up(handle: &Handle, deployment: &Value, old: &[Arc<Value>]) {
    let limit = usize::try_from(number(deployment, "/spec/revisionHistoryLimit"));
    let Some(surplus) = old.len().checked_sub(limit.unwrap_or_default()) else {
        return;
    };
    let idle = |set: &&Arc<Value>| {
        number(set, "/spec/replicas") == 0
            && number(set, "/status/replicas") == 0
            && !meta::is_deleting(set)
    };
    for set in old.iter().take(surplus).filter(idle) {
        let options = DeleteOptions {
            uid: Some(meta::uid(set).to_owned()),
            ..DeleteOptions::default()
        };
        let namespace = meta::text(set, "namespace");
        let deleted = handle.delete(&replica_sets(), Some(namespace), meta::name(set), &options);
        if let Err(error) = deleted {
            tracing::debug!(set = meta::name(set), %error, "the simulator cannot delete the ReplicaSet");
        }
    }
}
