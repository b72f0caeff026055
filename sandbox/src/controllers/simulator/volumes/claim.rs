use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::class::Class;
use super::pod::is_on;
use super::{BY_CONTROLLER, COMPLETED, COMPONENT, PROVISIONED, SELECTED, volumes};
use crate::api::Handle;
use crate::builtin::selects;
use crate::controllers::simulator::events::{self, Message};
use crate::controllers::simulator::object::{claims, nodes, update};
use crate::go::compare_quantities;
use crate::meta;

/// Binds a claim, or keeps a bound one right.
pub(in crate::controllers::simulator) fn reconcile(
    handle: &Handle,
    claim: &Value,
) -> Option<Duration> {
    let wanted = claim["spec"]["volumeName"].as_str().unwrap_or_default();
    let volume = handle.get(&volumes(), None, wanted);
    if !claim["metadata"]["annotations"][COMPLETED].is_null() {
        match volume {
            Some(volume) => keep(handle, claim, &volume),
            None => lose(handle, claim),
        }
    } else if meta::is_deleting(claim) {
    } else if wanted.is_empty() {
        choose(handle, claim);
    } else {
        match volume {
            Some(volume) if volume["spec"]["claimRef"].is_null() || is_for(&volume, claim) => {
                bind(handle, claim, &volume);
            }
            Some(_) => {
                let text = format!("volume {wanted:?} already bound to a different claim.");
                tell(handle, claim, true, "FailedBinding", &text);
                wait(handle, claim);
            }
            None => wait(handle, claim),
        }
    }
    None
}

/// Whether the reference of a volume names a claim.
pub(super) fn is_for(volume: &Value, claim: &Value) -> bool {
    let reference = &volume["spec"]["claimRef"];
    let uid = reference["uid"].as_str().unwrap_or_default();
    reference["name"] == meta::name(claim)
        && reference["namespace"] == meta::text(claim, "namespace")
        && (uid.is_empty() || uid == meta::uid(claim))
}

fn tell(handle: &Handle, claim: &Value, warning: bool, reason: &str, text: &str) {
    let message = Message {
        component: COMPONENT,
        warning,
        reason,
    };
    events::record(handle, claim, message, text);
}

/// Finds or makes a volume for a claim that names none.
fn choose(handle: &Handle, claim: &Value) {
    let class = Class::of(handle, claim);
    let node = claim["metadata"]["annotations"][SELECTED].as_str();
    let node = node.and_then(|name| handle.get(&nodes(), None, name));
    let waits = class.waits_for_consumer() && node.is_none();
    if let Some(volume) = best(handle, claim, &class.name, node.as_deref(), waits) {
        bind(handle, claim, &volume);
        return;
    }
    if waits {
        let text = "waiting for first consumer to be created before binding";
        tell(handle, claim, false, "WaitForFirstConsumer", text);
    } else if let Some(provisioner) = class.provisioner() {
        if let Some(volume) = provision(handle, claim, &class, provisioner) {
            bind(handle, claim, &volume);
        }
        return;
    } else if class.name.is_empty() {
        let text = "no persistent volumes available for this claim and no storage class is set";
        tell(handle, claim, false, "FailedBinding", text);
    } else {
        let text = "no volume plugin matched name: kubernetes.io/no-provisioner";
        tell(handle, claim, true, "ProvisioningFailed", text);
    }
    wait(handle, claim);
}

/// The volume that is made for a claim, or else the smallest available one that fits. `prebound` allows only the former.
pub(super) fn best(
    handle: &Handle,
    claim: &Value,
    class: &str,
    node: Option<&Value>,
    prebound: bool,
) -> Option<Arc<Value>> {
    let size = "/spec/resources/requests/storage";
    let asked = claim.pointer(size).and_then(Value::as_str).unwrap_or("0");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let capacity = |volume: &Value| text(&volume["spec"]["capacity"]["storage"]);
    let same =
        |volume: &Value, field: &str| text(&volume["spec"][field]) == text(&claim["spec"][field]);
    let mut all = handle.list(&volumes(), None);
    all.retain(|volume| {
        let fits = compare_quantities(&capacity(volume), asked).is_some_and(|order| order.is_ge());
        let on_node = node.is_none_or(|node| is_on(volume, node));
        fits && on_node
            && !meta::is_deleting(volume)
            && same(volume, "volumeMode")
            && same(volume, "volumeAttributesClassName")
    });
    if let Some(own) = all.iter().find(|volume| is_for(volume, claim)) {
        return Some(own.clone());
    }
    let modes = claim["spec"]["accessModes"].as_array();
    let selector = &claim["spec"]["selector"];
    all.retain(|volume| {
        let known = volume["spec"]["accessModes"].as_array();
        let mut modes = modes.into_iter().flatten();
        !prebound
            && volume["spec"]["claimRef"].is_null()
            && volume["status"]["phase"] == "Available"
            && crate::api::class_of(volume) == class
            && modes.all(|mode| known.is_some_and(|known| known.contains(mode)))
            && (selector.is_null() || selects(selector, &volume["metadata"]["labels"]))
    });
    // The sort is stable: volumes of one size stay in the order of their names.
    all.sort_by(|one, other| {
        let order = compare_quantities(&capacity(one), &capacity(other));
        order.unwrap_or(std::cmp::Ordering::Equal)
    });
    all.into_iter().next()
}

/// Creates a volume for a claim.
fn provision(
    handle: &Handle,
    claim: &Value,
    class: &Class,
    provisioner: &str,
) -> Option<Arc<Value>> {
    let name = format!("pvc-{}", meta::uid(claim));
    let spec = &claim["spec"];
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED: provisioner}},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": reference(claim),
            "hostPath": {"path": format!("/sandbox/volumes/{name}")},
            "persistentVolumeReclaimPolicy": class.reclaim_policy(),
            "storageClassName": class.name,
            "volumeMode": spec["volumeMode"],
        },
    });
    let options = class.mount_options();
    if !options.is_null() {
        volume["spec"]["mountOptions"] = options;
    }
    update(handle, &claims(), claim, "", |claim| {
        for prefix in ["volume", "volume.beta"] {
            annotate(
                claim,
                &format!("{prefix}.kubernetes.io/storage-provisioner"),
                provisioner,
            );
        }
    });
    let created = handle.create(&volumes(), volume);
    let (warning, reason, text) = match &created {
        Ok(_) => (
            false,
            "ProvisioningSucceeded",
            format!("Successfully provisioned volume {name}"),
        ),
        Err(error) if error.code == 409 => return handle.get(&volumes(), None, &name),
        Err(error) => (
            true,
            "ProvisioningFailed",
            format!(
                "failed to provision volume with StorageClass {:?}: {error}",
                class.name
            ),
        ),
    };
    tell(handle, claim, warning, reason, &text);
    created.ok().map(Arc::new)
}

fn reference(claim: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": meta::name(claim),
        "namespace": meta::text(claim, "namespace"), "resourceVersion": meta::resource_version(claim),
        "uid": meta::uid(claim),
    })
}

fn annotate(object: &mut Value, name: &str, value: &str) {
    if !object["metadata"]["annotations"].is_object() {
        meta::set(object, "annotations", json!({}));
    }
    object["metadata"]["annotations"][name] = json!(value);
}

/// Binds a claim and a volume to each other: the volume first, so that no other claim gets it.
fn bind(handle: &Handle, claim: &Value, volume: &Value) {
    if volume["spec"]["claimRef"]["uid"]
        .as_str()
        .is_none_or(str::is_empty)
    {
        let chosen = volume["spec"]["claimRef"].is_null();
        update(handle, &volumes(), volume, "", |volume| {
            volume["spec"]["claimRef"] = reference(claim);
            if chosen {
                annotate(volume, BY_CONTROLLER, "yes");
            }
        });
    }
    set_phase(handle, volume, "Bound");
    let name = meta::name(volume);
    update(handle, &claims(), claim, "", |claim| {
        if claim["spec"]["volumeName"].is_null() {
            claim["spec"]["volumeName"] = json!(name);
            annotate(claim, BY_CONTROLLER, "yes");
        }
        annotate(claim, COMPLETED, "yes");
    });
    show(handle, claim, volume);
}

pub(super) fn set_phase(handle: &Handle, volume: &Value, phase: &str) {
    if volume["status"]["phase"] == phase {
        return;
    }
    let now = handle.core().clock.timestamp();
    update(handle, &volumes(), volume, "status", |volume| {
        let status = &mut volume["status"];
        if status["phase"] != phase {
            status["phase"] = json!(phase);
            status["lastPhaseTransitionTime"] = json!(now);
        }
    });
}

/// Writes what a bound claim has.
fn show(handle: &Handle, claim: &Value, volume: &Value) {
    update(handle, &claims(), claim, "status", |claim| {
        let status = &mut claim["status"];
        status["phase"] = json!("Bound");
        status["accessModes"] = volume["spec"]["accessModes"].clone();
        status["capacity"] = volume["spec"]["capacity"].clone();
    });
}

/// Lets a provisioned volume grow with its claim.
fn keep(handle: &Handle, claim: &Value, volume: &Value) {
    if !is_for(volume, claim) {
        return lose(handle, claim);
    }
    let size = "/spec/resources/requests/storage";
    let asked = claim.pointer(size).and_then(Value::as_str).unwrap_or("0");
    let has = volume["spec"]["capacity"]["storage"]
        .as_str()
        .unwrap_or("0");
    let grows = compare_quantities(asked, has).is_some_and(|order| order.is_gt());
    let mut volume = volume.clone();
    if grows && !volume["metadata"]["annotations"][PROVISIONED].is_null() {
        volume["spec"]["capacity"]["storage"] = json!(asked);
        update(handle, &volumes(), &volume, "", |volume| {
            volume["spec"]["capacity"]["storage"] = json!(asked);
        });
    }
    show(handle, claim, &volume);
}

fn lose(handle: &Handle, claim: &Value) {
    if claim["status"]["phase"] == "Lost" {
        return;
    }
    update(handle, &claims(), claim, "status", |claim| {
        claim["status"] = json!({"phase": "Lost"});
    });
    let text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
    tell(handle, claim, true, "ClaimLost", text);
}

fn wait(handle: &Handle, claim: &Value) {
    if claim["status"]["phase"] != "Pending" {
        update(handle, &claims(), claim, "status", |claim| {
            claim["status"]["phase"] = json!("Pending");
        });
    }
}

/// Tells the provisioner of a claim on which node its first consumer is.
pub(super) fn select(handle: &Handle, claim: &Value, node: &str) {
    update(handle, &claims(), claim, "", |claim| {
        annotate(claim, SELECTED, node)
    });
}
