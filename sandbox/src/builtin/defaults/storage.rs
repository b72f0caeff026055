use serde_json::{Map, Value, json};

use super::fields::{ensure, fill, object};
use super::pod::{canonicalize, canonicalize_field, default_host_path};

/// `storage.k8s.io`.
pub(super) fn storage(kind: &str, fields: &mut Map<String, Value>) {
    match kind {
        "StorageClass" => {
            fill(fields, "reclaimPolicy", "Delete");
            fill(fields, "volumeBindingMode", "Immediate");
        }
        "CSIDriver" => {
            let Some(spec) = ensure(fields, "spec") else {
                return;
            };
            fill(spec, "attachRequired", true);
            for switch in [
                "podInfoOnMount",
                "storageCapacity",
                "requiresRepublish",
                "seLinuxMount",
                "preventPodSchedulingIfMissing",
            ] {
                fill(spec, switch, false);
            }
            fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
            fill(spec, "volumeLifecycleModes", json!(["Persistent"]));
        }
        "CSIStorageCapacity" => {
            for size in ["capacity", "maximumVolumeSize"] {
                canonicalize_field(fields, size);
            }
        }
        "VolumeAttachment" => {
            let spec = object(fields, "spec").and_then(|spec| object(spec, "source"));
            if let Some(inline) = spec.and_then(|source| object(source, "inlineVolumeSpec")) {
                volume_spec(inline);
            }
        }
        _ => {}
    }
}

/// The core kind PersistentVolume.
pub(super) fn volume(fields: &mut Map<String, Value>) {
    if let Some(spec) = ensure(fields, "spec") {
        fill(spec, "persistentVolumeReclaimPolicy", "Retain");
        volume_spec(spec);
        fill(spec, "volumeMode", "Filesystem");
    }
    if let Some(status) = ensure(fields, "status") {
        fill(status, "phase", "Pending");
    }
}

fn volume_spec(spec: &mut Map<String, Value>) {
    if let Some(capacity) = object(spec, "capacity") {
        canonicalize(capacity);
    }
    if let Some(path) = object(spec, "hostPath") {
        default_host_path(path);
    }
    if let Some(disk) = object(spec, "iscsi") {
        fill(disk, "iscsiInterface", "default");
    }
    if let Some(disk) = object(spec, "rbd") {
        fill(disk, "pool", "rbd");
        fill(disk, "user", "admin");
        fill(disk, "keyring", "/etc/ceph/keyring");
    }
    if let Some(disk) = object(spec, "azureDisk") {
        fill(disk, "cachingMode", "ReadWrite");
        fill(disk, "kind", "Shared");
        fill(disk, "fsType", "ext4");
        fill(disk, "readOnly", false);
    }
    if let Some(disk) = object(spec, "scaleIO") {
        fill(disk, "storageMode", "ThinProvisioned");
        fill(disk, "fsType", "xfs");
    }
}
