use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::super::claims;
use super::super::part::Part;
use super::super::storage::{HOST_PATH_TYPES, driver_name};
use super::{containers, env, projected};
use crate::go::Quantity;
use crate::names;
use crate::schema::FieldError;

/// The valid volumes by their names.
pub(super) type Volumes<'a> = BTreeMap<&'a str, Part<'a>>;

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// The types of volumes in the order of a real server. It misspells two of the paths at which it refuses a second type.
const TYPES: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// The texts that a type of volume needs.
fn required_texts(kind: &str) -> &'static [&'static str] {
    match kind {
        "gitRepo" => &["repository"],
        "gcePersistentDisk" => &["pdName"],
        "awsElasticBlockStore" | "cinder" | "portworxVolume" => &["volumeID"],
        "secret" => &["secretName"],
        "nfs" => &["server", "path"],
        "glusterfs" => &["endpoints", "path"],
        "persistentVolumeClaim" => &["claimName"],
        "flexVolume" => &["driver"],
        "configMap" => &["name"],
        "azureFile" => &["secretName", "shareName"],
        "vsphereVolume" => &["volumePath"],
        "photonPersistentDisk" => &["pdID"],
        "azureDisk" => &["diskName", "diskURI"],
        "scaleIO" => &["gateway", "system", "volumeName"],
        _ => &[],
    }
}

/// The volumes of a specification. Returns those that are valid.
pub(super) fn volumes<'a>(
    spec: &Part<'a>,
    pod_name: Option<&str>,
    found: &mut Vec<FieldError>,
) -> Volumes<'a> {
    let pod_name = pod_name.filter(|name| !name.is_empty());
    let created: BTreeSet<String> = spec
        .items("volumes")
        .filter(|volume| volume.set("ephemeral").is_some())
        .filter_map(|volume| Some(format!("{}-{}", pod_name?, volume.text_of("name"))))
        .collect();
    let mut valid = Volumes::new();
    for volume in spec.items("volumes") {
        let before = found.len();
        source(&volume, pod_name, found);
        let name = volume.get("name");
        name.required_name(names::dns_label, found);
        if valid.contains_key(name.text()) {
            name.duplicate(found);
        }
        if found.len() == before {
            valid.insert(name.text(), volume.clone());
        }
        let claim = volume.get("persistentVolumeClaim").get("claimName");
        if created.contains(claim.text()) {
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            claim.invalid(detail, found);
        }
    }
    valid
}

fn source(volume: &Part, pod_name: Option<&str>, found: &mut Vec<FieldError>) {
    let mut is_first = true;
    for (kind, refused_as) in TYPES {
        let Some(source) = volume.set(kind) else {
            continue;
        };
        if !is_first {
            let second = volume.get(refused_as);
            second.forbidden("may not specify more than 1 volume type", found);
        } else {
            for text in required_texts(kind) {
                // A real server names the disks of GCE otherwise.
                let source = match kind {
                    "gcePersistentDisk" => source.named_as(volume.get("persistentDisk").path),
                    _ => source.clone(),
                };
                source.get(text).required(found);
            }
            of_kind(kind, &source, volume, found);
        }
        if kind == "ephemeral" && is_first {
            ephemeral_name(volume, pod_name, found);
        }
        is_first = false;
    }
    if is_first {
        volume.missing("must specify a volume type", found);
    }
}

fn of_kind(kind: &str, source: &Part, volume: &Part, found: &mut Vec<FieldError>) {
    match kind {
        "emptyDir" => {
            let limit = source.get("sizeLimit");
            if Quantity::parse(limit.text()).is_some_and(Quantity::is_negative) {
                let detail = "SizeLimit field must be a valid resource quantity";
                limit.forbidden(detail, found);
            }
        }
        "hostPath" => host_path(source, found),
        "gitRepo" => source.get("directory").relative_path(found),
        "gcePersistentDisk" => {
            let disk = source.named_as(volume.get("persistentDisk").path);
            partition(&disk, found);
        }
        "awsElasticBlockStore" => partition(source, found),
        "secret" | "configMap" => files(source, found),
        "nfs" => {
            let path = source.get("path");
            if !path.text().starts_with('/') {
                path.invalid("must be an absolute path", found);
            }
        }
        "iscsi" => iscsi(source, volume, found),
        "flocker" => flocker(source, found),
        "rbd" => {
            required_list(source, "monitors", found);
            source.get("image").required(found);
        }
        "cephfs" => required_list(source, "monitors", found),
        "cinder" => secret_reference(source, found),
        "quobyte" => quobyte(source, found),
        "downwardAPI" => downward(source, found),
        "fc" => fibre_channel(source, found),
        "flexVolume" => flex_options(source, found),
        "azureDisk" => azure_disk(source, found),
        "storageos" => {
            source
                .get("volumeName")
                .required_name(names::dns_label, found);
            source
                .get("volumeNamespace")
                .name_if_set(names::dns_label, found);
            secret_reference(source, found);
        }
        "projected" => {
            mode(source, "defaultMode", found);
            projected::sources(source, found);
        }
        "csi" => csi(source, found),
        "ephemeral" => match source.set("volumeClaimTemplate") {
            Some(template) => claims::template(&template, found),
            None => source.get("volumeClaimTemplate").missing("", found),
        },
        "image" => {
            source.get("reference").required(found);
            containers::pull_policy(&source.get("pullPolicy"), found);
        }
        _ => {}
    }
}

fn required_list(source: &Part, name: &str, found: &mut Vec<FieldError>) {
    if source.list(name).is_empty() {
        source.get(name).missing("", found);
    }
}

fn secret_reference(source: &Part, found: &mut Vec<FieldError>) {
    if let Some(secret) = source.set("secretRef") {
        secret.get("name").required(found);
    }
}

/// The mode of files.
pub(super) fn mode(source: &Part, name: &str, found: &mut Vec<FieldError>) {
    let mode = source.get(name);
    if mode
        .number()
        .is_some_and(|mode| !(0..=0o777).contains(&mode))
    {
        mode.invalid(MODE, found);
    }
}

/// The files of a ConfigMap or Secret.
fn files(source: &Part, found: &mut Vec<FieldError>) {
    mode(source, "defaultMode", found);
    for item in source.items("items") {
        key_and_path(&item, found);
    }
}

/// A key and the path of its file.
pub(super) fn key_and_path(item: &Part, found: &mut Vec<FieldError>) {
    item.get("key").required(found);
    item.get("path").required(found);
    item.get("path").own_path(found);
    mode(item, "mode", found);
}

fn host_path(source: &Part, found: &mut Vec<FieldError>) {
    let path = source.get("path");
    if path.text().is_empty() {
        return path.missing("", found);
    }
    path.no_steps_up(found);
    source.get("type").one_of_if_set(&HOST_PATH_TYPES, found);
}

fn partition(source: &Part, found: &mut Vec<FieldError>) {
    let partition = source.get("partition");
    if partition
        .number()
        .is_some_and(|number| !(0..=255).contains(&number))
    {
        partition.invalid("must be between 1 and 255, inclusive", found);
    }
}

fn iscsi(source: &Part, volume: &Part, found: &mut Vec<FieldError>) {
    source.get("targetPortal").required(found);
    let name = source.get("iqn");
    match name.text() {
        "" => name.missing("", found),
        _ => qualified_target(&name, found),
    }
    source.get("lun").within(0, 255, found);
    let logs_in = ["chapAuthDiscovery", "chapAuthSession"];
    if logs_in.iter().any(|field| source.is_true(field)) && source.set("secretRef").is_none() {
        source.get("secretRef").missing("", found);
    }
    if let Some(initiator) = source.set("initiatorName") {
        let initiator = initiator.named_as(source.get("initiatorname").path);
        qualified_target(&initiator, found);
        let (name, portal) = (volume.get("name"), source.text_of("targetPortal"));
        if name.text().len() + 1 + portal.len() > 64 {
            let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                          iscsi.initiatorName is specified.";
            name.invalid(detail, found);
        }
    }
}

/// The name of an iSCSI target or initiator.
fn qualified_target(name: &Part, found: &mut Vec<FieldError>) {
    static FORMS: LazyLock<Option<[(&str, Regex); 3]>> = LazyLock::new(|| {
        Some([
            (
                "iqn",
                Regex::new(r"iqn\.\d{4}-\d{2}\.([[:alnum:]\-.]+)(:[^,;*&$|\s]+)$").ok()?,
            ),
            ("eui", Regex::new(r"^eui.[[:alnum:]]{16}$").ok()?),
            ("naa", Regex::new(r"^naa.[[:alnum:]]{32}$").ok()?),
        ])
    });
    let text = name.text();
    let mut forms = FORMS.iter().flatten();
    match forms.find(|(prefix, _)| text.starts_with(prefix)) {
        None => name.invalid("must be valid format starting with iqn, eui, or naa", found),
        Some((_, form)) if !form.is_match(text) => name.invalid("must be valid format", found),
        Some(_) => {}
    }
}

fn flocker(source: &Part, found: &mut Vec<FieldError>) {
    let name = source.get("datasetName");
    let both = [name.text(), source.text_of("datasetUUID")].map(str::is_empty);
    match both {
        [true, true] => source.missing("one of datasetName and datasetUUID is required", found),
        [false, false] => source.invalid_as(
            "resource",
            "datasetName and datasetUUID can not be specified simultaneously",
            found,
        ),
        _ => {}
    }
    if name.text().contains('/') {
        name.invalid("must not contain '/'", found);
    }
}

fn quobyte(source: &Part, found: &mut Vec<FieldError>) {
    const DETAIL: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.get("registry");
    if registry.text().is_empty() {
        registry.missing(DETAIL, found);
    } else if source.text_of("tenant").len() >= 65 {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        source.get("tenant").missing(detail, found);
    } else {
        for pair in registry.text().split(',') {
            if pair
                .rsplit_once(':')
                .is_none_or(|(host, _)| host.contains(':'))
            {
                registry.invalid(DETAIL, found);
            }
        }
    }
    source.get("volume").required(found);
}

/// Files with fields of the Pod. A real server leaves the items out of the paths.
fn downward(source: &Part, found: &mut Vec<FieldError>) {
    mode(source, "defaultMode", found);
    for item in source.items("items") {
        downward_file(&item.named_as(&source.path), found);
    }
}

/// A file with a field of the Pod.
pub(super) fn downward_file(file: &Part, found: &mut Vec<FieldError>) {
    file.get("path").required(found);
    file.get("path").own_path(found);
    match (file.set("fieldRef"), file.set("resourceFieldRef")) {
        (Some(field), resource) => {
            env::field_of_pod(&field, &env::VOLUME_FIELDS, found);
            if resource.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                file.invalid_as("resource", detail, found);
            }
        }
        (None, Some(resource)) => env::resource_of_container(&resource, true, found),
        (None, None) => file.missing("one of fieldRef and resourceFieldRef is required", found),
    }
    mode(file, "mode", found);
}

fn fibre_channel(source: &Part, found: &mut Vec<FieldError>) {
    let names = source.get("targetWWNs");
    let (has_names, has_ids) = (
        !source.list("targetWWNs").is_empty(),
        !source.list("wwids").is_empty(),
    );
    match (has_names, has_ids) {
        (false, false) => {
            names.missing(
                "must specify either targetWWNs or wwids, but not both",
                found,
            );
        }
        (true, true) => {
            let detail = "targetWWNs and wwids can not be specified simultaneously";
            names.invalid(detail, found);
        }
        _ => {}
    }
    if has_names {
        let unit = source.get("lun");
        match unit.is_set() {
            true => unit.within(0, 255, found),
            false => unit.missing("lun is required if targetWWNs is specified", found),
        }
    }
}

fn flex_options(source: &Part, found: &mut Vec<FieldError>) {
    for (key, value) in source.get("options").entries() {
        let space = key.split_once('/').map_or(key, |(space, _)| space);
        let space = format!(".{}", space.to_lowercase());
        if [".kubernetes.io", ".k8s.io"]
            .iter()
            .any(|end| space.ends_with(end))
        {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            value.invalid_as(key, detail, found);
        }
    }
}

fn azure_disk(source: &Part, found: &mut Vec<FieldError>) {
    let modes = &["None", "ReadOnly", "ReadWrite"];
    source.get("cachingMode").one_of_if_set(modes, found);
    let kind = source.get("kind");
    kind.one_of_if_set(&["Dedicated", "Managed", "Shared"], found);
    let (uri, managed) = (source.get("diskURI"), kind.text() == "Managed");
    let (start, form) = match managed {
        true => (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        false => (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        ),
    };
    if kind.is_set() && !uri.text().starts_with(start) {
        found.push(FieldError::not_supported(&uri.path, uri.text(), [form]));
    }
}

fn csi(source: &Part, found: &mut Vec<FieldError>) {
    let driver = source.get("driver");
    driver_name(driver.text(), &driver.path, found);
    if let Some(secret) = source.set("nodePublishSecretRef") {
        let name = secret.get("name");
        match name.text() {
            "" => name.missing("", found),
            _ => name
                .named_as(source.get("name").path)
                .name(names::dns_subdomain, found),
        }
    }
}

/// The claim of an ephemeral volume is named after the Pod and the volume.
fn ephemeral_name(volume: &Part, pod_name: Option<&str>, found: &mut Vec<FieldError>) {
    let name = volume.get("name");
    if let Some(pod) = pod_name
        && !name.text().is_empty()
    {
        let claim = format!("{pod}-{}", name.text());
        for wrong in names::dns_subdomain(&claim) {
            name.invalid(format!("PVC name {claim:?}: {wrong}"), found);
        }
    }
}

/// A Pod without a service account gets no token.
pub(super) fn tokens_need_an_account(spec: &Part, found: &mut Vec<FieldError>) {
    if !spec.text_of("serviceAccountName").is_empty() {
        return;
    }
    for volume in spec.items("volumes") {
        for source in volume.get("projected").items("sources") {
            if let Some(token) = source.set("serviceAccountToken") {
                let detail = "must not be specified when serviceAccountName is not set";
                token.forbidden(detail, found);
            }
        }
    }
}

/// Variables from files need a volume in which containers write.
pub(super) fn of_file_keys(spec: &Part, found: &mut Vec<FieldError>) {
    let volumes: BTreeMap<&str, Part> = spec
        .items("volumes")
        .map(|volume| (volume.text_of("name"), volume))
        .collect();
    for container in containers::all(spec) {
        for name in env::file_volumes(&container) {
            match volumes.get(name.text()) {
                None => name.not_found("", found),
                Some(volume) if volume.set("emptyDir").is_none() => {
                    name.invalid("referenced volume must be of type emptyDir", found);
                }
                Some(_) => {}
            }
        }
    }
}
