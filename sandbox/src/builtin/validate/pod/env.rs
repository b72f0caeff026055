use std::collections::BTreeSet;

use super::super::object::key_errors;
use super::super::part::Part;
use crate::names;
use crate::schema::FieldError;

/// The environment variables of a container.
pub(super) fn variables(container: &Part, found: &mut Vec<FieldError>) {
    for variable in container.items("env") {
        let name = variable.get("name");
        name.required_name(names::environment_variable, found);
        if let Some(source) = variable.set("valueFrom") {
            let has_value = !variable.text_of("value").is_empty();
            value_source(&source, has_value, found);
        }
    }
}

fn value_source(source: &Part, has_value: bool, found: &mut Vec<FieldError>) {
    let mut count = 0;
    let mut given = |name: &str| {
        let part = source.set(name);
        count += usize::from(part.is_some());
        part
    };
    if let Some(field) = given("fieldRef") {
        field_of_pod(&field, &ENV_FIELDS, found);
    }
    if let Some(resource) = given("resourceFieldRef") {
        resource_of_container(&resource, false, found);
    }
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(selector) = given(kind) {
            selector.get("name").name(names::dns_subdomain, found);
            selector.get("key").required_name(key_errors, found);
        }
    }
    if let Some(file) = given("fileKeyRef") {
        let key = file.get("key");
        key.required_name(names::environment_variable, found);
        let volume = file.get("volumeName");
        volume.required_name(names::dns_label, found);
        let path = file.get("path");
        path.required(found);
        path.no_steps_up(found);
    }
    let detail = match count {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if has_value => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    source.invalid_as("", detail, found);
}

/// The fields that a variable shows, in the order of a real server.
const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The fields that a volume shows.
pub(super) const VOLUME_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// The fields that a real server knows at all.
const KNOWN_FIELDS: [&str; 15] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    "spec.host",
];

/// A reference to a field of the Pod.
pub(super) fn field_of_pod(reference: &Part, allowed: &[&str], found: &mut Vec<FieldError>) {
    let field = reference.get("fieldPath");
    let version = reference.get("apiVersion");
    for part in [&version, &field] {
        if part.text().is_empty() {
            return part.missing("", found);
        }
    }
    if version.text() != "v1" {
        let detail = format!(
            "error converting fieldPath: unsupported pod version: {}",
            version.text()
        );
        return field.invalid(detail, found);
    }
    let (path, key) = match field.text().strip_suffix("']") {
        Some(text) => match text.split_once("['") {
            Some((path, key)) => (path, Some(key)),
            None => (field.text(), None),
        },
        None => (field.text(), None),
    };
    let known = match key {
        Some(_) => matches!(path, "metadata.annotations" | "metadata.labels"),
        None => KNOWN_FIELDS.contains(&path),
    };
    if !known {
        let detail = match key {
            Some(_) => format!(
                "error converting fieldPath: field label does not support subscript: {}",
                field.text()
            ),
            None => format!("error converting fieldPath: field label not supported: {path}"),
        };
        return field.invalid(detail, found);
    }
    match key {
        Some(key) => {
            let key = match path {
                "metadata.annotations" => key.to_lowercase(),
                _ => key.to_owned(),
            };
            for wrong in names::qualified_name(&key) {
                reference.invalid_as(key.as_str(), wrong, found);
            }
        }
        None => {
            // A real server knows this field by another name.
            let path = if path == "spec.host" {
                "spec.nodeName"
            } else {
                path
            };
            if !allowed.contains(&path) {
                let known = allowed.iter().copied();
                found.push(FieldError::not_supported(&field.path, path, known));
            }
        }
    }
}

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// A reference to a request or limit of a container.
pub(super) fn resource_of_container(
    reference: &Part,
    in_volume: bool,
    found: &mut Vec<FieldError>,
) {
    let resource = reference.get("resource");
    let name = resource.text();
    let pages = ["requests.hugepages-", "limits.hugepages-"];
    let is_pages = pages.iter().any(|pages| name.starts_with(pages));
    if in_volume && reference.text_of("containerName").is_empty() {
        reference.get("containerName").missing("", found);
    } else if name.is_empty() {
        resource.missing("", found);
    } else if !is_pages {
        resource.one_of(&RESOURCES, found);
    }
    let divisor = reference.text_of("divisor");
    let what = match name {
        "limits.cpu" | "requests.cpu" => "cpu",
        "limits.memory" | "requests.memory" => "memory",
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage",
        _ if is_pages => "hugepages",
        _ => return,
    };
    let (allowed, shown): (&[&str], &str) = match what {
        "cpu" => (&["1m", "1"], "1m and 1"),
        _ => (
            &[
                "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
            ],
            "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei",
        ),
    };
    if !["", "0"].contains(&divisor) && !allowed.contains(&divisor) {
        let detail =
            format!("only divisor's values {shown} are supported with the {what} resource");
        reference.get("divisor").invalid_as(name, detail, found);
    }
}

/// The ConfigMaps and Secrets whose keys are variables.
pub(super) fn sources(container: &Part, found: &mut Vec<FieldError>) {
    let list = container.get("envFrom");
    for source in container.items("envFrom") {
        let prefix = source.get("prefix");
        prefix.name_if_set(names::environment_variable, found);
        let given = ["configMapRef", "secretRef"].map(|kind| source.set(kind));
        for reference in given.iter().flatten() {
            let name = reference.get("name");
            // A reference may end in a dash, as if it were a prefix.
            let (text, path) = (name.text(), &name.path);
            if text.is_empty() {
                name.missing("", found);
            } else {
                for wrong in names::dns_subdomain(&masked(text)) {
                    found.push(FieldError::invalid(path, text, wrong));
                }
            }
        }
        match given.iter().flatten().count() {
            0 => list.invalid_as(
                "",
                "must specify one of: `configMapRef` or `secretRef`",
                found,
            ),
            1 => {}
            _ => list.invalid_as(
                "",
                "may not have more than one field specified at a time",
                found,
            ),
        }
    }
}

/// The name with its last dash replaced, because a real server validates it as a prefix.
fn masked(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(start) if !start.is_empty() => format!("{start}a"),
        _ => name.to_owned(),
    }
}

/// The volumes whose files are variables, with the part that names each.
pub(super) fn file_volumes<'a>(container: &Part<'a>) -> impl Iterator<Item = Part<'a>> + use<'a> {
    container.items("env").filter_map(|variable| {
        let file = variable.set("valueFrom")?.set("fileKeyRef")?;
        Some(file.get("volumeName"))
    })
}

/// The names in a set, for errors.
pub(super) fn joined(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}
