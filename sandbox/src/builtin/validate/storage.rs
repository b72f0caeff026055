use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{
    any_case_name, at, fixed, immutable, indexed, list, map, name, quantity_not_negative, required,
    required_name, supported, text,
};
use super::internal_form::{changed, internal_invalid};
use super::part::Part;
use super::pod::node_selector;
use super::selector::label_selector;
use crate::go::compare_quantities;
use crate::names;
use crate::schema::FieldError;

/// The volume types of a PersistentVolume, in the order in which a real server checks them.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// The core kind PersistentVolume.
pub(super) fn volume(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = at(object, "/spec");
    access_modes(spec, "spec", found);
    capacity(spec, found);
    let policy = text(spec, "/persistentVolumeReclaimPolicy");
    let field = "spec.persistentVolumeReclaimPolicy";
    supported(policy, field, &["Delete", "Recycle", "Retain"], found);
    if let Some(affinity) = Part::new(spec, "spec").set("nodeAffinity") {
        match affinity.set("required") {
            Some(required) => node_selector(&required, found),
            None => affinity
                .get("required")
                .missing("must specify required node constraints", found),
        }
    }
    source(spec, "spec", found);
    let path = text(spec, "/hostPath/path");
    let is_root = !path.is_empty() && path.bytes().all(|byte| byte == b'/');
    if is_root && policy == "Recycle" {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        found.push(FieldError::forbidden(field, detail));
    }
    let class = text(spec, "/storageClassName");
    if !class.is_empty() {
        name(class, "spec.storageClassName", names::dns_subdomain, found);
    }
    let mode = text(spec, "/volumeMode");
    supported(mode, "spec.volumeMode", &["Block", "Filesystem"], found);
    if !at(spec, "/volumeAttributesClassName").is_null() {
        let class = text(spec, "/volumeAttributesClassName");
        let field = "spec.volumeAttributesClassName";
        match class {
            "" => found.push(FieldError::required(field, "an empty string is disallowed")),
            class => name(class, field, names::dns_subdomain, found),
        }
        if at(spec, "/csi").is_null() {
            let detail = "has to be specified when using volumeAttributesClassName";
            found.push(FieldError::required("spec.csi", detail));
        }
    }
    let Some(old) = old else { return };
    let was = at(old, "/spec");
    let mut same = SOURCES.iter().map(|source| {
        let late = *source == "csi" && was["csi"].get("controllerExpandSecretRef").is_none();
        let mut now = spec.get(source).cloned();
        if late && let Some(Value::Object(fields)) = &mut now {
            fields.remove("controllerExpandSecretRef");
        }
        now.as_ref() == was.get(source)
    });
    if !same.all(|same| same) {
        let said = "spec.persistentvolumesource is immutable after creation";
        let detail = changed("core.PersistentVolumeSource", said, was, spec);
        found.push(FieldError::forbidden("spec.persistentvolumesource", detail));
    }
    if spec.get("volumeMode") != was.get("volumeMode") {
        let detail = "field is immutable";
        found.push(FieldError::invalid("volumeMode", mode, detail));
    }
    let affinity = was.get("nodeAffinity");
    if affinity.is_some() && affinity != spec.get("nodeAffinity") {
        let value = at(spec, "/nodeAffinity").clone();
        let detail = "field is immutable";
        found.push(FieldError::invalid("nodeAffinity", value, detail));
    }
}

fn access_modes(spec: &Value, field: &str, found: &mut Vec<FieldError>) {
    const ALONE: &str = "ReadWriteOncePod";
    const KNOWN: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", ALONE];
    let modes = list(spec, "/accessModes");
    let field = format!("{field}.accessModes");
    if modes.is_empty() {
        found.push(FieldError::required(&field, ""));
    }
    for mode in modes {
        supported(mode.as_str().unwrap_or_default(), &field, &KNOWN, found);
    }
    let known = |mode: &&Value| KNOWN.iter().any(|known| *mode == known);
    let (alone, others): (Vec<_>, Vec<_>) =
        modes.iter().filter(known).partition(|mode| *mode == ALONE);
    if !alone.is_empty() && !others.is_empty() {
        let detail = "may not use ReadWriteOncePod with other access modes";
        found.push(FieldError::forbidden(field, detail));
    }
}

fn capacity(spec: &Value, found: &mut Vec<FieldError>) {
    let capacity = at(spec, "/capacity");
    let field = "spec.capacity";
    let count = map(spec, "/capacity").count();
    if count == 0 {
        found.push(FieldError::required(field, ""));
    }
    if count != 1 || capacity.get("storage").is_none() {
        found.push(FieldError::not_supported(
            field,
            capacity.clone(),
            ["storage"],
        ));
    }
    for (resource, quantity) in map(spec, "/capacity") {
        positive(quantity, &format!("{field}[{resource}]"), found);
    }
}

fn positive(quantity: &Value, field: &str, found: &mut Vec<FieldError>) {
    let order = quantity
        .as_str()
        .and_then(|text| compare_quantities(text, "0"));
    if order.is_some_and(|order| !order.is_gt()) {
        let detail = "must be greater than zero";
        found.push(FieldError::invalid(field, quantity.clone(), detail));
    }
}

/// There must be exactly one volume type.
fn source(spec: &Value, field: &str, found: &mut Vec<FieldError>) {
    let set: Vec<&str> = SOURCES
        .into_iter()
        .filter(|source| spec.get(source).is_some())
        .collect();
    let Some((first, others)) = set.split_first() else {
        return found.push(FieldError::required(field, "must specify a volume type"));
    };
    let body = at(spec, &format!("/{first}"));
    let path = format!("{field}.{first}");
    match *first {
        "hostPath" => host_path(body, &path, found),
        "nfs" => {
            required(text(body, "/server"), &format!("{path}.server"), found);
            required(text(body, "/path"), &format!("{path}.path"), found);
        }
        "local" => {
            required(text(body, "/path"), &format!("{path}.path"), found);
            if at(spec, "/nodeAffinity/required").is_null() {
                let detail = "Local volume requires node affinity";
                let field = format!("{field}.nodeAffinity");
                found.push(FieldError::required(field, detail));
            }
        }
        "csi" => {
            driver_name(text(body, "/driver"), &format!("{path}.driver"), found);
            let handle = text(body, "/volumeHandle");
            required(handle, &format!("{path}.volumeHandle"), found);
        }
        _ => {}
    }
    for other in others {
        let detail = "may not specify more than 1 volume type";
        found.push(FieldError::forbidden(format!("{field}.{other}"), detail));
    }
}

/// The types of a path of a node.
pub(super) const HOST_PATH_TYPES: [&str; 8] = [
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

fn host_path(body: &Value, field: &str, found: &mut Vec<FieldError>) {
    let path = text(body, "/path");
    let path_field = format!("{field}.path");
    if path.is_empty() {
        return found.push(FieldError::required(path_field, ""));
    }
    if path.split('/').any(|step| step == "..") {
        let detail = "must not contain '..'";
        found.push(FieldError::invalid(path_field, path, detail));
    }
    supported(
        text(body, "/type"),
        &format!("{field}.type"),
        &HOST_PATH_TYPES,
        found,
    );
}

/// The name of a driver is a domain of at most 63 characters.
pub(super) fn driver_name(driver: &str, field: &str, found: &mut Vec<FieldError>) {
    if driver.is_empty() {
        return found.push(FieldError::required(field, ""));
    }
    if driver.len() > 63 {
        found.push(FieldError::too_long(field, 63));
    }
    for wrong in names::dns_subdomain(&driver.to_lowercase()) {
        found.push(FieldError::invalid(field, driver, wrong));
    }
}

/// `storage.k8s.io`.
pub(super) fn storage(
    kind: &str,
    object: &Value,
    old: Option<&Value>,
    found: &mut Vec<FieldError>,
) {
    match kind {
        "StorageClass" => storage_class(object, old, found),
        "VolumeAttributesClass" => attributes_class(object, old, found),
        "VolumeAttachment" => attachment(object, old, found),
        "CSIDriver" => driver(object, old, found),
        "CSINode" => node(object, old, found),
        "CSIStorageCapacity" => storage_capacity(object, old, found),
        _ => {}
    }
}

fn storage_class(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    // A real server checks only a new class: its content cannot change.
    if let Some(old) = old {
        for field in [
            "/parameters",
            "/provisioner",
            "/reclaimPolicy",
            "/volumeBindingMode",
        ] {
            fixed(object, old, field, found);
        }
        return;
    }
    provisioner(text(object, "/provisioner"), "provisioner", found);
    parameters(object, found);
    let policy = text(object, "/reclaimPolicy");
    supported(policy, "reclaimPolicy", &["Delete", "Retain"], found);
    let mode = text(object, "/volumeBindingMode");
    let modes = ["Immediate", "WaitForFirstConsumer"];
    supported(mode, "volumeBindingMode", &modes, found);
    for (field, term) in indexed(object, "/allowedTopologies", "allowedTopologies") {
        let path = format!("{field}.matchLabelExpressions");
        let mut keys = BTreeSet::new();
        for (field, expression) in indexed(term, "/matchLabelExpressions", &path) {
            let values = list(expression, "/values");
            if values.is_empty() {
                found.push(FieldError::required(format!("{field}.values"), ""));
            }
            let mut known = BTreeSet::new();
            for (index, value) in values.iter().enumerate() {
                if !known.insert(value.as_str()) {
                    let field = format!("{field}.values[{index}]");
                    found.push(FieldError::duplicate(field, value.clone()));
                }
            }
            let key = text(expression, "/key");
            let field = format!("{field}.key");
            name(key, &field, names::qualified_name, found);
            if !keys.insert(key) {
                found.push(FieldError::duplicate(field, key.into()));
            }
        }
    }
}

fn provisioner(value: &str, field: &str, found: &mut Vec<FieldError>) {
    required_name(&value.to_lowercase(), field, names::qualified_name, found);
}

fn parameters(object: &Value, found: &mut Vec<FieldError>) {
    const MOST: u64 = 512;
    const SIZE: u64 = 256 * 1024;
    let mut size = 0;
    if map(object, "/parameters").count() as u64 > MOST {
        return found.push(FieldError::too_long("parameters", MOST));
    }
    for (key, value) in map(object, "/parameters") {
        if key.is_empty() {
            let detail = "field can not be empty.";
            found.push(FieldError::invalid("parameters", "", detail));
        }
        size += (key.len() + value.as_str().map_or(0, str::len)) as u64;
    }
    if size > SIZE {
        found.push(FieldError::too_long("parameters", SIZE));
    }
}

fn attributes_class(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    provisioner(text(object, "/driverName"), "driverName", found);
    parameters(object, found);
    if map(object, "/parameters").next().is_none() {
        let detail = "must contain at least one key/value pair";
        found.push(FieldError::required("parameters", detail));
    }
    let Some(old) = old else { return };
    for field in ["driverName", "parameters"] {
        if object.get(field) != old.get(field) {
            let detail = format!("updates to {field} are forbidden.");
            found.push(FieldError::forbidden(field, detail));
        }
    }
}

fn attachment(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = at(object, "/spec");
    let attacher = text(spec, "/attacher");
    any_case_name(attacher, "spec.attacher", 63, found);
    let (volume, inline) = (
        at(spec, "/source/persistentVolumeName"),
        at(spec, "/source/inlineVolumeSpec"),
    );
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (volume.as_str(), inline.is_null()) {
        (None, true) => found.push(FieldError::required("spec.source", detail)),
        (Some(_), false) => found.push(FieldError::forbidden("spec.source", detail)),
        (Some(""), true) => found.push(FieldError::required(
            "spec.source.persistentVolumeName",
            "must specify non empty persistentVolumeName",
        )),
        (Some(volume), true) => name(
            volume,
            "spec.source.persistentVolumeName",
            names::dns_subdomain,
            found,
        ),
        (None, false) => inline_volume(inline, found),
    }
    name(
        text(spec, "/nodeName"),
        "spec.nodeName",
        names::dns_subdomain,
        found,
    );
    if let Some(old) = old {
        fixed(object, old, "/spec", found);
    }
}

fn inline_volume(spec: &Value, found: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.source.inlineVolumeSpec";
    let forbidden = ["claimRef", "capacity", "nodeAffinity", "storageClassName"];
    for part in forbidden {
        if spec.get(part).is_some() {
            let detail = "may not be specified in the context of inline volumes";
            found.push(FieldError::forbidden(format!("{FIELD}.{part}"), detail));
        }
    }
    for (part, only, detail) in [
        (
            "persistentVolumeReclaimPolicy",
            "Retain",
            "may only be Retain in the context of inline volumes",
        ),
        (
            "volumeMode",
            "Filesystem",
            "may not specify volumeMode other than Filesystem in the context of inline volumes",
        ),
    ] {
        if spec.get(part).is_some_and(|value| value != only) {
            found.push(FieldError::forbidden(format!("{FIELD}.{part}"), detail));
        }
    }
    if spec.get("csi").is_none() {
        let detail = "has to be specified in the context of inline volumes";
        found.push(FieldError::required(format!("{FIELD}.csi"), detail));
    }
    access_modes(spec, FIELD, found);
    source(spec, FIELD, found);
}

fn driver(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = at(object, "/spec");
    let policy = text(spec, "/fsGroupPolicy");
    let policies = ["File", "None", "ReadWriteOnceWithFSType"];
    supported(policy, "spec.fsGroupPolicy", &policies, found);
    let mut audiences = BTreeSet::new();
    for (field, request) in indexed(spec, "/tokenRequests", "spec.tokenRequests") {
        let audience = text(request, "/audience");
        if !audiences.insert(audience) {
            let field = format!("{field}.audience");
            found.push(FieldError::duplicate(field, audience.into()));
            continue;
        }
        let seconds = at(request, "/expirationSeconds");
        let detail = match seconds.as_i64() {
            Some(..600) => "may not specify a duration less than 10 minutes",
            Some(4_294_967_297..) => "may not specify a duration larger than 2^32 seconds",
            _ => continue,
        };
        let field = format!("{field}.expirationSeconds");
        found.push(FieldError::invalid(field, seconds.clone(), detail));
    }
    for mode in list(spec, "/volumeLifecycleModes") {
        let mode = mode.as_str().unwrap_or_default();
        let field = "spec.volumeLifecycleModes";
        supported(mode, field, &["Persistent", "Ephemeral"], found);
    }
    let period = at(spec, "/nodeAllocatableUpdatePeriodSeconds");
    if period.as_i64().is_some_and(|seconds| seconds < 10) {
        let field = "spec.nodeAllocatableUpdatePeriodSeconds";
        let detail = "must be greater than or equal to 10 seconds";
        found.push(FieldError::invalid(field, period.clone(), detail));
    }
    let Some(old) = old else { return };
    // A real server misspells the first field.
    for (part, field) in [
        ("attachRequired", "spec.attachedRequired"),
        ("volumeLifecycleModes", "spec.volumeLifecycleModes"),
    ] {
        let value = &spec[part];
        if *value != old["spec"][part] {
            found.push(FieldError::invalid(
                field,
                value.clone(),
                "field is immutable",
            ));
        }
    }
}

fn node(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let mut drivers = BTreeSet::new();
    for (field, driver) in indexed(object, "/spec/drivers", "spec.drivers") {
        let label = text(driver, "/name");
        driver_name(label, &format!("{field}.name"), found);
        let id = text(driver, "/nodeID");
        required(id, &format!("{field}.nodeID"), found);
        if id.len() > 256 {
            let detail = "must be 256 characters or less";
            found.push(FieldError::invalid(format!("{field}.nodeID"), id, detail));
        }
        let count = at(driver, "/allocatable/count");
        if count.as_i64().is_some_and(|count| count < 0) {
            let detail = "must be greater than or equal to 0";
            let field = format!("{field}.allocatable.count");
            found.push(FieldError::invalid(field, count.clone(), detail));
        }
        if !drivers.insert(label) {
            found.push(FieldError::duplicate(format!("{field}.name"), label.into()));
        }
        let mut keys = BTreeSet::new();
        for key in list(driver, "/topologyKeys") {
            let key = key.as_str().unwrap_or_default();
            required(key, &field, found);
            if !keys.insert(key) {
                found.push(FieldError::duplicate(&field, key.into()));
            }
            name(key, &field, names::qualified_name, found);
        }
    }
    let Some(old) = old else { return };
    let fixed = |driver: &Value| {
        let mut driver = driver.as_object().cloned().unwrap_or_default();
        driver.remove("allocatable");
        driver
    };
    for was in list(old, "/spec/drivers") {
        let same_name = |driver: &&Value| driver["name"] == was["name"];
        for driver in list(object, "/spec/drivers").iter().filter(same_name) {
            if fixed(driver) != fixed(was) {
                let driver = Value::Object(fixed(driver));
                let (kind, field) = ("storage.CSINodeDriver", "spec.drivers");
                found.push(internal_invalid(kind, field, &driver, "field is immutable"));
            }
        }
    }
}

fn storage_capacity(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let class = text(object, "/storageClassName");
    name(class, "storageClassName", names::dns_subdomain, found);
    for part in ["capacity", "maximumVolumeSize"] {
        quantity_not_negative(&object[part], part, found);
    }
    let topology = at(object, "/nodeTopology");
    if !topology.is_null() {
        label_selector(topology, "nodeTopology", found);
    }
    if let Some(old) = old {
        immutable(object, old, "/nodeTopology", found);
        immutable(object, old, "/storageClassName", found);
    }
}
