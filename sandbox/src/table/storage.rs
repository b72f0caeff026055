use std::cmp::Reverse;

use serde_json::{Value, json};

use super::cells::{
    access_modes, age, count, is_default_class, items, joined, since, text, text_or, time,
};
use super::printer::Printer;

const UNSET: &str = "<unset>";

pub(super) const VOLUMES: Printer = Printer {
    named: true,
    columns: &[
        ("Capacity", "string", 0),
        ("Access Modes", "string", 0),
        ("Reclaim Policy", "string", 0),
        ("Status", "string", 0),
        ("Claim", "string", 0),
        ("StorageClass", "string", 0),
        ("VolumeAttributesClass", "string", 0),
        ("Reason", "string", 0),
        ("Age", "string", 0),
        ("VolumeMode", "string", 1),
    ],
    cells: |object, now| {
        let going = object.pointer("/metadata/deletionTimestamp").is_some();
        let phase = text(object, "/status/phase");
        let claim = object
            .pointer("/spec/claimRef")
            .map_or(String::new(), |claim| {
                format!("{}/{}", text(claim, "/namespace"), text(claim, "/name"))
            });
        // An old annotation may name the class.
        let annotations = object.pointer("/metadata/annotations");
        let class = annotations
            .and_then(|all| all.get("volume.beta.kubernetes.io/storage-class")?.as_str())
            .unwrap_or_else(|| text(object, "/spec/storageClassName"));
        vec![
            text_or(object, "/spec/capacity/storage", "0").into(),
            access_modes(object, "/spec/accessModes").into(),
            text(object, "/spec/persistentVolumeReclaimPolicy").into(),
            if going { "Terminating" } else { phase }.into(),
            claim.into(),
            class.into(),
            text_or(object, "/spec/volumeAttributesClassName", UNSET).into(),
            text(object, "/status/reason").into(),
            age(object, now),
            text_or(object, "/spec/volumeMode", UNSET).into(),
        ]
    },
};

fn switch(object: &Value, pointer: &str, otherwise: bool) -> Value {
    let given = object.pointer(pointer).and_then(Value::as_bool);
    given.unwrap_or(otherwise).into()
}

/// The place of the class that new claims get. A list of classes marks its name.
pub(super) fn default_class<'a>(classes: impl Iterator<Item = &'a Value>) -> Option<usize> {
    const ANNOTATIONS: [&str; 2] = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    let marked = classes
        .enumerate()
        .filter(|(_, class)| is_default_class(class, &ANNOTATIONS));
    let newest = marked.max_by_key(|(_, class)| {
        let name = text(class, "/metadata/name");
        (text(class, "/metadata/creationTimestamp"), Reverse(name))
    });
    newest.map(|(place, _)| place)
}

pub(super) const CLASSES: Printer = Printer {
    named: false,
    columns: &[
        ("Name", "string", 0),
        ("Provisioner", "string", 0),
        ("ReclaimPolicy", "string", 0),
        ("VolumeBindingMode", "string", 0),
        ("AllowVolumeExpansion", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        vec![
            text(object, "/metadata/name").into(),
            text(object, "/provisioner").into(),
            text_or(object, "/reclaimPolicy", "Delete").into(),
            text_or(object, "/volumeBindingMode", "Immediate").into(),
            switch(object, "/allowVolumeExpansion", false),
            age(object, now),
        ]
    },
};

pub(super) const ATTRIBUTES_CLASSES: Printer = Printer {
    named: true,
    columns: &[("DriverName", "string", 0), ("Age", "string", 0)],
    cells: |object, now| vec![text(object, "/driverName").into(), age(object, now)],
};

pub(super) const ATTACHMENTS: Printer = Printer {
    named: true,
    columns: &[
        ("Attacher", "string", 0),
        ("PV", "string", 0),
        ("Node", "string", 0),
        ("Attached", "boolean", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        vec![
            text(object, "/spec/attacher").into(),
            text(object, "/spec/source/persistentVolumeName").into(),
            text(object, "/spec/nodeName").into(),
            switch(object, "/status/attached", false),
            age(object, now),
        ]
    },
};

pub(super) const DRIVERS: Printer = Printer {
    named: true,
    columns: &[
        ("AttachRequired", "boolean", 0),
        ("PodInfoOnMount", "boolean", 0),
        ("StorageCapacity", "boolean", 0),
        ("TokenRequests", "string", 0),
        ("RequiresRepublish", "boolean", 0),
        ("Modes", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        let modes = items(object, "/spec/volumeLifecycleModes").iter();
        let modes = modes.filter_map(|mode| mode.as_str().map(String::from));
        let tokens = items(object, "/spec/tokenRequests");
        let audiences: Vec<&str> = tokens
            .iter()
            .map(|token| text(token, "/audience"))
            .collect();
        let audiences = match tokens {
            [] => UNSET.into(),
            _ => audiences.join(","),
        };
        vec![
            switch(object, "/spec/attachRequired", true),
            switch(object, "/spec/podInfoOnMount", false),
            switch(object, "/spec/storageCapacity", false),
            audiences.into(),
            switch(object, "/spec/requiresRepublish", false),
            joined(modes.collect()).into(),
            age(object, now),
        ]
    },
};

pub(super) const DRIVERS_OF_NODES: Printer = Printer {
    named: true,
    columns: &[("Drivers", "integer", 0), ("Age", "string", 0)],
    cells: |object, now| vec![json!(count(object, "/spec/drivers")), age(object, now)],
};

pub(super) const TAINT_RULES: Printer = Printer {
    named: true,
    columns: &[
        ("Key", "string", 0),
        ("Value", "string", 0),
        ("Effect", "string", 0),
        ("TimeAdded", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        vec![
            text(object, "/spec/taint/key").into(),
            text(object, "/spec/taint/value").into(),
            text(object, "/spec/taint/effect").into(),
            since(time(object, "/spec/taint/timeAdded"), now).into(),
            age(object, now),
        ]
    },
};

pub(super) const CLAIMS: Printer = Printer {
    named: true,
    columns: &[("State", "string", 0), ("Age", "string", 0)],
    cells: |object, now| vec![claim_state(object).into(), age(object, now)],
};

/// The state of a ResourceClaim.
fn claim_state(claim: &Value) -> String {
    let going = claim.pointer("/metadata/deletionTimestamp").is_some();
    let allocated = claim.pointer("/status/allocation").is_some();
    let mut states = Vec::new();
    if going {
        states.push("deleted");
    }
    if allocated {
        states.push("allocated");
        if count(claim, "/status/reservedFor") > 0 {
            states.push("reserved");
        }
    } else if !going {
        states.push("pending");
    }
    states.join(",")
}

pub(super) const SLICES: Printer = Printer {
    named: true,
    columns: &[
        ("Node", "string", 0),
        ("Driver", "string", 0),
        ("Pool", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        vec![
            text(object, "/spec/nodeName").into(),
            text(object, "/spec/driver").into(),
            text(object, "/spec/pool/name").into(),
            age(object, now),
        ]
    },
};
