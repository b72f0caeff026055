use serde_json::{Value, json};

use super::COMPONENT;
use super::pod::name as pod_name;
use crate::api::Handle;
use crate::controllers::simulator::events::{self, Message};
use crate::controllers::simulator::object::{claims, controller_reference, update};
use crate::meta;

/// The names of a Pod's claims: that of the template, and that of the claim.
pub(super) fn names(set: &Value, ordinal: i64) -> impl Iterator<Item = (&str, String)> {
    let templates = set.pointer("/spec/volumeClaimTemplates");
    let templates = templates.and_then(Value::as_array).into_iter().flatten();
    templates.map(move |template| {
        let template = meta::name(template);
        (template, format!("{template}-{}", pod_name(set, ordinal)))
    })
}

/// Creates the claims of a Pod that do not exist. Returns whether the Pod can use them all.
pub(super) fn create(handle: &Handle, set: &Value, ordinal: i64) -> bool {
    let namespace = meta::text(set, "namespace");
    let templates = set.pointer("/spec/volumeClaimTemplates");
    let templates = templates.and_then(Value::as_array).into_iter().flatten();
    let mut usable = true;
    for (template, (_, name)) in templates.zip(names(set, ordinal)) {
        if let Some(claim) = handle.get(&claims(), Some(namespace), &name) {
            usable &= !meta::is_deleting(&claim);
            continue;
        }
        let mut labels = template["metadata"]["labels"].clone();
        if !labels.is_object() {
            labels = json!({});
        }
        let selector = set.pointer("/spec/selector/matchLabels");
        for (key, value) in selector.and_then(Value::as_object).into_iter().flatten() {
            labels[key] = value.clone();
        }
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": labels,
                "annotations": template["metadata"]["annotations"],
            },
            "spec": template["spec"],
        });
        let created = handle.create(&claims(), claim);
        let (of, set_name) = (pod_name(set, ordinal), meta::name(set));
        let (reason, text) = match &created {
            Ok(_) => (
                "SuccessfulCreate",
                format!("Create Claim {name} Pod {of} in StatefulSet {set_name} success"),
            ),
            Err(error) => (
                "FailedCreate",
                format!(
                    "Create Claim {name} for Pod {of} in StatefulSet {set_name} failed error: {error}"
                ),
            ),
        };
        let what = Message {
            component: COMPONENT,
            warning: created.is_err(),
            reason,
        };
        events::record(handle, set, what, &text);
        usable &= created.is_ok();
    }
    usable
}

/// Whether a claim still belongs to an earlier Pod of the number. It goes with that Pod, so a new Pod waits for its end.
pub(super) fn are_stale(handle: &Handle, set: &Value, ordinal: i64) -> bool {
    let namespace = meta::text(set, "namespace");
    let pod = pod_name(set, ordinal);
    deletes(set, "whenScaled")
        && names(set, ordinal).any(|(_, name)| {
            let claim = handle.get(&claims(), Some(namespace), &name);
            claim.is_some_and(|claim| owners(&claim).any(|owner| is_pod(owner, &pod)))
        })
}

/// Gives the claims of a Pod the owners that the retention policy asks for: the set, so that they go with it, or a Pod that is
/// one too many, so that they go with the Pod.
pub(super) fn own(handle: &Handle, set: &Value, pod: &Value, ordinal: i64, is_surplus: bool) {
    let owner = if is_surplus && deletes(set, "whenScaled") {
        Some(controller_reference(pod))
    } else if deletes(set, "whenDeleted") {
        Some(controller_reference(set))
    } else {
        None
    };
    let namespace = meta::text(set, "namespace");
    for (_, name) in names(set, ordinal) {
        let Some(claim) = handle.get(&claims(), Some(namespace), &name) else {
            continue;
        };
        let ours = |reference: &&Value| is_of(reference, set) || is_of(reference, pod);
        // The claim of an earlier set or Pod goes with that, and one that others control is theirs.
        let foreign = owners(&claim).any(|reference| {
            let earlier = [set, pod].into_iter().any(|one| {
                reference["kind"] == one["kind"]
                    && reference["name"] == one["metadata"]["name"]
                    && !is_of(reference, one)
            });
            earlier || reference["controller"] == true && !ours(&reference)
        });
        let known: Vec<&Value> = owners(&claim).filter(ours).collect();
        let right = known
            .iter()
            .map(|one| &one["uid"])
            .eq(owner.iter().map(|one| &one["uid"]));
        if foreign || right {
            continue;
        }
        update(handle, &claims(), &claim, "", |claim| {
            let mut new: Vec<Value> = owners(claim).filter(|one| !ours(one)).cloned().collect();
            new.extend(owner.clone());
            meta::set(claim, "ownerReferences", new);
        });
    }
}

fn deletes(set: &Value, when: &str) -> bool {
    set["spec"]["persistentVolumeClaimRetentionPolicy"][when] == "Delete"
}

fn owners(claim: &Value) -> impl Iterator<Item = &Value> {
    let owners = claim.pointer("/metadata/ownerReferences");
    owners.and_then(Value::as_array).into_iter().flatten()
}

fn is_of(reference: &Value, owner: &Value) -> bool {
    reference["uid"] == meta::uid(owner)
}

fn is_pod(reference: &Value, name: &str) -> bool {
    reference["kind"] == "Pod" && reference["name"] == name
}
