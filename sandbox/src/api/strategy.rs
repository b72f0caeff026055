//! What differs between kinds, as facts: each function returns one fact about one kind.

use serde_json::Value;

use super::options::Propagation;
use super::{DeleteOptions, Target};
use crate::registry::ServedKind;
use crate::{builtin, meta, names};

fn is(kind: &ServedKind, group: &str, names: &[&str]) -> bool {
    kind.group == group && names.contains(&kind.kind.as_str())
}

/// Whether `metadata.generation` counts the changes of the object's specification.
fn has_generation(kind: &ServedKind) -> bool {
    kind.is_custom()
        || is(
            kind,
            "apps",
            &["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"],
        )
        || is(kind, "batch", &["Job", "CronJob"])
        || is(kind, "autoscaling", &["HorizontalPodAutoscaler"])
        || is(kind, "", &["Pod", "PodTemplate", "ReplicationController"])
        || is(kind, "apiextensions.k8s.io", &["CustomResourceDefinition"])
        || is(kind, "policy", &["PodDisruptionBudget"])
        || is(
            kind,
            "networking.k8s.io",
            &["Ingress", "IngressClass", "NetworkPolicy"],
        )
        || is(
            kind,
            "resource.k8s.io",
            &["DeviceClass", "DeviceTaintRule", "ResourceSlice"],
        )
        || is(kind, "storage.k8s.io", &["CSIDriver"])
        || [
            "admissionregistration.k8s.io",
            "discovery.k8s.io",
            "flowcontrol.apiserver.k8s.io",
            "scheduling.k8s.io",
        ]
        .contains(&kind.group.as_str())
}

/// The generation of a new object.
pub(crate) fn first_generation(kind: &ServedKind) -> Option<i64> {
    let starts_later = is(kind, "storage.k8s.io", &["CSIDriver"]);
    (has_generation(kind) && !starts_later).then_some(1)
}

/// The field whose changes the generation counts.
fn counted_field(kind: &ServedKind) -> &'static str {
    match kind.kind.as_str() {
        "PodTemplate" => "template",
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => "webhooks",
        _ => "spec",
    }
}

/// Whether a change through the main resource increments the generation.
pub(crate) fn counts_as_change(kind: &ServedKind, old: &Value, new: &Value) -> bool {
    if !has_generation(kind) {
        return false;
    }
    if kind.is_custom() {
        return differs_outside(
            old,
            new,
            if kind.status {
                &["metadata", "status"]
            } else {
                &["metadata"]
            },
        );
    }
    if is(kind, "discovery.k8s.io", &["EndpointSlice"]) {
        // A list that is empty, and one that is absent, are stored in the same form.
        let part = |object: &Value, pointer: &str| match object.pointer(pointer) {
            Some(Value::Array(items)) if items.is_empty() => Value::Null,
            found => found.cloned().unwrap_or_default(),
        };
        let counted = ["/addressType", "/endpoints", "/ports", "/metadata/labels"];
        return counted
            .iter()
            .any(|pointer| part(old, pointer) != part(new, pointer));
    }
    let counted = counted_field(kind);
    if old.get(counted) != new.get(counted) {
        return true;
    }
    is(kind, "apps", &["Deployment"])
        && old.pointer("/metadata/annotations") != new.pointer("/metadata/annotations")
}

fn differs_outside(old: &Value, new: &Value, ignored: &[&str]) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return old != new;
    };
    let counted = |name: &&String| !ignored.contains(&name.as_str()) && *name != "apiVersion";
    let names = old.keys().chain(new.keys()).filter(counted);
    names.into_iter().any(|name| old.get(name) != new.get(name))
}

/// The kinds of `storage.k8s.io` that a replace without a resource version does not change.
const CONDITIONAL_STORAGE: [&str; 4] = [
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "VolumeAttachment",
];

/// Whether a replace without a resource version is allowed.
pub(crate) fn allows_unconditional_update(kind: &ServedKind) -> bool {
    !(kind.is_custom()
        || is(kind, "coordination.k8s.io", &["Lease"])
        || is(kind, "policy", &["PodDisruptionBudget"])
        || is(kind, "apiextensions.k8s.io", &["CustomResourceDefinition"])
        || is(kind, "storage.k8s.io", &CONDITIONAL_STORAGE)
        || is(kind, "resource.k8s.io", &["DeviceTaintRule"])
        || is(
            kind,
            "certificates.k8s.io",
            &["ClusterTrustBundle", "PodCertificateRequest"],
        )
        || [
            "admissionregistration.k8s.io",
            "apiregistration.k8s.io",
            "node.k8s.io",
            "storagemigration.k8s.io",
        ]
        .contains(&kind.group.as_str()))
}

/// Whether a replace of an object that does not exist creates it.
pub(crate) fn creates_on_update(kind: &ServedKind) -> bool {
    kind.group == "rbac.authorization.k8s.io"
        || kind.group == "events.k8s.io"
        || is(kind, "coordination.k8s.io", &["Lease"])
        || is(kind, "node.k8s.io", &["RuntimeClass"])
        || is(kind, "", &["Event", "Service", "Endpoints", "LimitRange"])
}

/// Whether a deletion returns the object and not a `Status`.
pub(crate) fn returns_deleted_object(kind: &ServedKind) -> bool {
    let core = [
        "Pod",
        "Service",
        "ServiceAccount",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "ResourceQuota",
        "PodTemplate",
    ];
    is(kind, "", &core)
        || kind.group == "resource.k8s.io" && kind.kind != "DeviceTaintRule"
        || kind.group == "storage.k8s.io" && kind.kind != "CSIStorageCapacity"
}

/// What happens to dependents if neither the request nor the object says so.
pub(crate) fn default_propagation(kind: &ServedKind) -> Propagation {
    if is(kind, "batch", &["Job"]) || is(kind, "", &["ReplicationController"]) {
        Propagation::Orphan
    } else {
        Propagation::Background
    }
}

/// The warning for a client that deletes an object of this kind without saying what happens to the dependents.
pub(crate) fn deletion_warning(kind: &ServedKind, options: &DeleteOptions) -> Option<&'static str> {
    let silent = options.propagation.is_none() && options.orphan_dependents.is_none();
    (silent && is(kind, "batch", &["Job"])).then_some(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set \
         propagationPolicy=Orphan to suppress this warning",
    )
}

/// How long an object may take to end by itself after a deletion. Returns `None` for kinds that end at once.
pub(crate) fn grace_period(kind: &ServedKind, object: &Value, wanted: Option<i64>) -> Option<i64> {
    if !is(kind, "", &["Pod"]) {
        return None;
    }
    let own = object
        .pointer("/spec/terminationGracePeriodSeconds")
        .and_then(Value::as_i64);
    let unscheduled = object
        .pointer("/spec/nodeName")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty();
    let phase = object.pointer("/status/phase").and_then(Value::as_str);
    if unscheduled || matches!(phase, Some("Failed" | "Succeeded")) {
        return Some(0);
    }
    Some(match wanted.or(own).unwrap_or(30) {
        negative if negative < 0 => 1,
        seconds => seconds,
    })
}

/// The errors in a name of this kind.
pub(crate) fn name_errors(kind: &ServedKind, name: &str) -> Vec<String> {
    if is(kind, "", &["Namespace", "Service"]) {
        names::dns_label(name)
    } else if kind.group == "rbac.authorization.k8s.io"
        || is(kind, "", &["Event"])
        || is(kind, "apiregistration.k8s.io", &["APIService"])
        || is(kind, "certificates.k8s.io", &["CertificateSigningRequest"])
    {
        names::path_segment(name)
    } else if is(kind, "networking.k8s.io", &["IPAddress"]) {
        builtin::ip_address_name(name)
    } else if is(kind, "certificates.k8s.io", &["ClusterTrustBundle"]) {
        // It depends on the signer: validation in code checks it.
        Vec::new()
    } else {
        names::dns_subdomain(name)
    }
}

/// The errors in the prefix of a generated name of this kind.
pub(crate) fn prefix_errors(kind: &ServedKind, prefix: &str) -> Vec<String> {
    // The generated suffix follows a dash at the end.
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked: String = rest.chars().take(rest.chars().count() - 1).collect();
            masked.push('a');
            name_errors(kind, &masked)
        }
        _ => name_errors(kind, prefix),
    }
}

/// Removes from a new object what only the server may set.
pub(crate) fn prepare_create(kind: &ServedKind, object: &mut Value) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    // A kubelet creates its node and knows the node's status.
    if kind.status && !is(kind, "", &["Node"]) {
        fields.remove("status");
        if !kind.is_custom() {
            fields.insert("status".into(), Value::Object(Default::default()));
        }
    }
    if is(kind, "", &["Namespace"])
        && let Some(status) = fields.get_mut("status").and_then(Value::as_object_mut)
    {
        status.insert("phase".into(), "Active".into());
    }
}

/// Restores what a change through this path may not change. `subresource` is empty for the main resource.
pub(crate) fn prepare_update(kind: &ServedKind, subresource: &str, old: &Value, new: &mut Value) {
    match subresource {
        "status" => {
            let Some(fields) = new.as_object_mut() else {
                return;
            };
            let names: Vec<String> = fields
                .keys()
                .chain(old.as_object().into_iter().flat_map(|old| old.keys()))
                .cloned()
                .collect();
            for name in names {
                if !["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()) {
                    meta::copy_field(new, old, &name);
                }
            }
            if kind.is_custom() {
                let managed = new.pointer("/metadata/managedFields").cloned();
                meta::copy_field(new, old, "metadata");
                match managed {
                    Some(managed) => meta::set(new, "managedFields", managed),
                    None => meta::remove(new, "managedFields"),
                }
            } else {
                for field in kept_by_status(kind) {
                    meta::copy(new, old, field);
                }
            }
        }
        // This path may change everything.
        "binding" => {}
        "approval" => {
            let conditions = new.pointer("/status/conditions").cloned();
            meta::copy_field(new, old, "spec");
            meta::copy_field(new, old, "status");
            if let Some(status) = new.get_mut("status").and_then(Value::as_object_mut) {
                match conditions {
                    Some(conditions) => status.insert("conditions".into(), conditions),
                    None => status.remove("conditions"),
                };
            }
        }
        "ephemeralcontainers" => {
            let asked = new.pointer("/spec/ephemeralContainers").cloned();
            only_spec(old, new);
            put(new, "ephemeralContainers", asked);
        }
        "resize" => {
            let Some(resized) = ["containers", "initContainers"]
                .into_iter()
                .map(|list| Some((list, resized(list, old, new)?)))
                .collect::<Option<Vec<_>>>()
            else {
                // Containers were added, removed or moved: validation reports that.
                return;
            };
            only_spec(old, new);
            for (list, containers) in resized {
                put(new, list, containers);
            }
        }
        "finalize" => {
            meta::copy_field(new, old, "status");
        }
        _ => {
            if kind.status {
                meta::copy_field(new, old, "status");
            }
            if is(kind, "", &["Namespace"])
                || is(kind, "certificates.k8s.io", &["CertificateSigningRequest"])
            {
                meta::copy_field(new, old, "spec");
            }
        }
    }
}

/// The fields that a write to this path cannot own, if they are not those of most kinds.
pub(crate) fn reset_fields(kind: &ServedKind, subresource: &str) -> &'static [&'static str] {
    if kind.is_custom() {
        return &[];
    }
    let request = is(kind, "certificates.k8s.io", &["CertificateSigningRequest"]);
    let keeps_metadata = is(kind, "", &["PersistentVolume", "ResourceQuota"])
        || is(kind, "autoscaling", &["HorizontalPodAutoscaler"])
        || is(kind, "networking.k8s.io", &["Ingress"]);
    match subresource {
        "" if request => &["spec", "status"],
        "status" if request => &["spec", "status.conditions"],
        "approval" if request => &["spec", "status.certificate"],
        "status" if keeps_metadata => &["spec"],
        _ => &[],
    }
}

/// The metadata that a write to the status of a built-in kind does not change.
fn kept_by_status(kind: &ServedKind) -> &'static [&'static str] {
    const ALL: [&str; 5] = [
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "generateName",
    ];
    match kind.group.as_str() {
        "" if kind.kind == "Pod" => &["ownerReferences"],
        "" if ["Namespace", "Node", "PersistentVolume", "ResourceQuota"]
            .contains(&kind.kind.as_str()) =>
        {
            &[]
        }
        "autoscaling" => &[],
        "certificates.k8s.io" if kind.kind == "CertificateSigningRequest" => &[],
        "networking.k8s.io" if kind.kind == "Ingress" => &[],
        "admissionregistration.k8s.io"
        | "apiregistration.k8s.io"
        | "certificates.k8s.io"
        | "flowcontrol.apiserver.k8s.io"
        | "networking.k8s.io"
        | "resource.k8s.io"
        | "storage.k8s.io"
        | "storagemigration.k8s.io" => &ALL,
        _ => &["labels"],
    }
}

/// Restores everything but the specification and the record of who owns which field.
fn only_spec(old: &Value, new: &mut Value) {
    for field in ["spec", "status"] {
        meta::copy_field(new, old, field);
    }
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        meta::copy(new, old, field);
    }
}

fn put(pod: &mut Value, field: &str, value: Option<Value>) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    match value {
        Some(value) => spec.insert(field.into(), value),
        None => spec.remove(field),
    };
}

/// The old containers with the resources of the new ones. Returns `None` if the containers are not the same.
fn resized(list: &str, old: &Value, new: &Value) -> Option<Option<Value>> {
    let of = |pod: &Value| {
        let spec = pod.get("spec");
        let list = spec.and_then(|spec| spec.get(list)?.as_array().cloned());
        list.unwrap_or_default()
    };
    let (mut old, new) = (of(old), of(new));
    if old.len() != new.len() {
        return None;
    }
    for (old, mut new) in old.iter_mut().zip(new) {
        if old.get("name") != new.get("name") {
            return None;
        }
        let (old, new) = (old.as_object_mut()?, new.as_object_mut()?);
        for field in ["resources", "resizePolicy"] {
            match new.remove(field) {
                Some(value) => old.insert(field.into(), value),
                None => old.remove(field),
            };
        }
    }
    Some((!old.is_empty()).then_some(Value::Array(old)))
}

/// The key under which a real server stores an object in etcd. Errors show it.
pub(crate) fn storage_key(target: &Target, name: &str) -> String {
    let resource = target.storage();
    let group = match resource.group.as_str() {
        group if target.kind.is_custom() || group == "apiextensions.k8s.io" => format!("{group}/"),
        _ => String::new(),
    };
    let plural = match (resource.group.as_str(), resource.resource.as_str()) {
        ("", "services") => "services/specs",
        ("", "nodes") => "minions",
        (_, plural) => plural,
    };
    let namespace = match &target.namespace {
        Some(namespace) => format!("{namespace}/"),
        None => String::new(),
    };
    format!("/registry/{group}{plural}/{namespace}{name}")
}
