use std::collections::{BTreeMap, BTreeSet};

use super::super::part::Part;
use super::volumes::Volumes;
use crate::schema::FieldError;

/// The mounts of a container.
pub(super) fn mounts(container: &Part, volumes: &Volumes, found: &mut Vec<FieldError>) {
    let (devices, device_paths) = names_and_paths(container, "volumeDevices", "devicePath");
    let list = container.get("volumeMounts");
    let mut paths = BTreeSet::new();
    for mount in container.items("volumeMounts") {
        let (name, path) = (mount.get("name"), mount.get("mountPath"));
        name.required(found);
        if !volumes.contains_key(name.text()) {
            name.named_as(&name.path).not_found("", found);
        }
        path.required(found);
        if !paths.insert(path.text()) {
            path.invalid("must be unique", found);
        }
        if devices.contains(name.text()) {
            name.invalid("must not already exist in volumeDevices", found);
        }
        if device_paths.contains(path.text()) {
            path.invalid("must not already exist as a path in volumeDevices", found);
        }
        // A real server leaves the index out of the following paths.
        let (within, expression) = (mount.get("subPath"), mount.get("subPathExpr"));
        if !within.text().is_empty() {
            within
                .named_as(list.get("subPath").path)
                .relative_path(found);
        }
        if !expression.text().is_empty() {
            if !within.text().is_empty() {
                expression.invalid("subPathExpr and subPath are mutually exclusive", found);
            }
            let expression = expression.named_as(list.get("subPathExpr").path);
            expression.relative_path(found);
        }
        if let Some(propagation) = mount.set("mountPropagation") {
            let propagation = propagation.named_as(list.get("mountPropagation").path);
            let known = &["Bidirectional", "HostToContainer", "None"];
            propagation.one_of(known, found);
            let privileged = container.get("securityContext").is_true("privileged");
            if propagation.text() == "Bidirectional" && !privileged {
                let detail =
                    "Bidirectional mount propagation is available only to privileged containers";
                propagation.forbidden(detail, found);
            }
        }
        read_only(&mount, &list, found);
    }
}

fn read_only(mount: &Part, list: &Part, found: &mut Vec<FieldError>) {
    let Some(recursive) = mount.set("recursiveReadOnly") else {
        return;
    };
    let recursive = recursive.named_as(list.get("recursiveReadOnly").path);
    match recursive.text() {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.is_true("readOnly") {
                recursive.forbidden("may only be specified when readOnly is true", found);
            }
            if !["", "None"].contains(&mount.text_of("mountPropagation")) {
                let detail = "may only be specified when mountPropagation is None or not specified";
                recursive.forbidden(detail, found);
            }
        }
        _ => recursive.one_of(&["Disabled", "Enabled", "IfPossible"], found),
    }
}

/// The block devices of a container.
pub(super) fn devices(container: &Part, volumes: &Volumes, found: &mut Vec<FieldError>) {
    let (mounts, mount_paths) = names_and_paths(container, "volumeMounts", "mountPath");
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for device in container.items("volumeDevices") {
        let (name, path) = (device.get("name"), device.get("devicePath"));
        name.required(found);
        if names.contains(name.text()) {
            name.invalid("must be unique", found);
        }
        match volumes.get(name.text()) {
            Some(volume) => {
                let kinds = ["persistentVolumeClaim", "ephemeral"];
                if kinds.iter().all(|kind| volume.set(kind).is_none()) {
                    let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                    name.invalid(detail, found);
                }
            }
            None => name.not_found("", found),
        }
        path.required(found);
        if paths.contains(path.text()) {
            path.invalid("must be unique", found);
        }
        if path.text().split('/').any(|part| part == "..") {
            path.invalid("can not contain backsteps ('..')", found);
        } else {
            paths.insert(path.text());
        }
        if mounts.contains(name.text()) {
            name.invalid("must not already exist in volumeMounts", found);
        }
        if mount_paths.contains(path.text()) {
            path.invalid("must not already exist as a path in volumeMounts", found);
        }
        if !name.text().is_empty() {
            names.insert(name.text());
        }
    }
}

/// The names in a list, and the last path of each.
fn names_and_paths<'a>(
    container: &Part<'a>,
    list: &str,
    path: &str,
) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
    let entries: BTreeMap<&str, &str> = container
        .items(list)
        .map(|entry| (entry.text_of("name"), entry.text_of(path)))
        .collect();
    let paths = entries.values().copied().collect();
    (entries.into_keys().collect(), paths)
}
