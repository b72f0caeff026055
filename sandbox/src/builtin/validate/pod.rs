use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::fields::{at, list, port_number, protocol, text};
use crate::builtin::defaults::qos_class;
use crate::go::{canonical_quantity, compare_quantities};
use crate::names;
use crate::schema::{FieldError, FieldErrorKind};

/// Validates the specification of a Pod at `path`: in a Pod or in a template.
pub(super) fn pod_spec(spec: Option<&Value>, path: &str, found: &mut Vec<FieldError>) {
    let Some(spec) = spec else {
        found.push(FieldError::required(format!("{path}.containers"), ""));
        return;
    };
    let volumes = volumes(spec, path, found);
    if list(spec, "/containers").is_empty() {
        found.push(FieldError::required(format!("{path}.containers"), ""));
    }
    let mut names = BTreeSet::new();
    for kind in ["containers", "initContainers"] {
        for (index, item) in list(spec, &format!("/{kind}")).iter().enumerate() {
            let field = format!("{path}.{kind}[{index}]");
            container(item, &field, &volumes, path != "spec", found);
            let name = text(item, "/name");
            if !name.is_empty() && !names.insert(name) {
                found.push(FieldError::duplicate(format!("{field}.name"), name.into()));
            }
        }
    }
    const RESTARTS: [&str; 3] = ["Always", "Never", "OnFailure"];
    let restart = text(spec, "/restartPolicy");
    if !RESTARTS.contains(&restart) {
        let field = format!("{path}.restartPolicy");
        found.push(FieldError::not_supported(field, restart, RESTARTS));
    }
    const DNS: [&str; 4] = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];
    let dns = text(spec, "/dnsPolicy");
    if !DNS.contains(&dns) {
        let field = format!("{path}.dnsPolicy");
        found.push(FieldError::not_supported(field, dns, DNS));
    }
}

fn volumes<'a>(spec: &'a Value, path: &str, found: &mut Vec<FieldError>) -> BTreeSet<&'a str> {
    let mut known = BTreeSet::new();
    for (index, volume) in list(spec, "/volumes").iter().enumerate() {
        let field = format!("{path}.volumes[{index}].name");
        name(volume, &field, found);
        let name = text(volume, "/name");
        if !name.is_empty() && !known.insert(name) {
            found.push(FieldError::duplicate(field, name.into()));
        }
        if volume.as_object().is_some_and(|fields| fields.len() > 2) {
            let detail = "may not specify more than 1 volume type";
            let field = format!("{path}.volumes[{index}]");
            found.push(FieldError::forbidden(field, detail));
        }
    }
    known
}

/// Validates the name of a container or volume.
fn name(item: &Value, field: &str, found: &mut Vec<FieldError>) {
    let name = text(item, "/name");
    if name.is_empty() {
        found.push(FieldError::required(field, ""));
        return;
    }
    for wrong in names::dns_label(name) {
        found.push(FieldError::invalid(field, name, wrong));
    }
}

fn container(
    container: &Value,
    field: &str,
    volumes: &BTreeSet<&str>,
    in_template: bool,
    found: &mut Vec<FieldError>,
) {
    name(container, &format!("{field}.name"), found);
    let image = text(container, "/image");
    if image.is_empty() {
        found.push(FieldError::required(format!("{field}.image"), ""));
    } else if image.trim() != image && !in_template {
        // Templates are validated less strictly: some contain images that are filled in later.
        let detail = "must not have leading or trailing whitespace";
        found.push(FieldError::invalid(format!("{field}.image"), image, detail));
    }
    let mut ports = BTreeSet::new();
    for (index, port) in list(container, "/ports").iter().enumerate() {
        let field = format!("{field}.ports[{index}]");
        port_number(
            at(port, "/containerPort"),
            &format!("{field}.containerPort"),
            found,
        );
        protocol(port, &field, found);
        let name = text(port, "/name");
        if !name.is_empty() && !ports.insert(name) {
            found.push(FieldError::duplicate(format!("{field}.name"), name.into()));
        }
        if name.len() > 15 {
            let detail = "must be no more than 15 characters";
            found.push(FieldError::invalid(format!("{field}.name"), name, detail));
        }
    }
    for (index, variable) in list(container, "/env").iter().enumerate() {
        let field = format!("{field}.env[{index}]");
        if text(variable, "/name").is_empty() {
            found.push(FieldError::required(format!("{field}.name"), ""));
        }
        if variable.get("valueFrom").is_some() && !text(variable, "/value").is_empty() {
            let detail = "may not be specified when `value` is not empty";
            let field = format!("{field}.valueFrom");
            found.push(FieldError::invalid(field, "", detail));
        }
    }
    let mut paths = BTreeSet::new();
    for (index, mount) in list(container, "/volumeMounts").iter().enumerate() {
        let field = format!("{field}.volumeMounts[{index}]");
        let (name, path) = (text(mount, "/name"), text(mount, "/mountPath"));
        if name.is_empty() {
            found.push(FieldError::required(format!("{field}.name"), ""));
        } else if !volumes.contains(name) {
            let field = format!("{field}.name");
            found.push(FieldError::new(
                FieldErrorKind::NotFound,
                field,
                Value::from(name),
                "",
            ));
        }
        if path.is_empty() {
            found.push(FieldError::required(format!("{field}.mountPath"), ""));
        } else if !paths.insert(path) {
            let detail = "must be unique";
            let field = format!("{field}.mountPath");
            found.push(FieldError::invalid(field, path, detail));
        }
    }
    const PULL: [&str; 3] = ["Always", "IfNotPresent", "Never"];
    let pull = text(container, "/imagePullPolicy");
    if !PULL.contains(&pull) {
        let field = format!("{field}.imagePullPolicy");
        found.push(FieldError::not_supported(field, pull, PULL));
    }
    resources(container, field, found);
}

const QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

fn resources(container: &Value, field: &str, found: &mut Vec<FieldError>) {
    let requests = &format!("{field}.resources.requests");
    for list in ["limits", "requests"] {
        let quantities = at(container, &format!("/resources/{list}")).as_object();
        for (name, quantity) in quantities.into_iter().flatten() {
            let field = format!("{field}.resources.{list}[{name}]");
            let text = quantity.as_str().unwrap_or_default();
            match canonical_quantity(text) {
                None => found.push(FieldError::invalid(field, quantity.clone(), QUANTITY)),
                Some(number) if number.starts_with('-') => {
                    let detail = "must be greater than or equal to 0";
                    found.push(FieldError::invalid(field, number, detail));
                }
                Some(_) if list == "requests" => {
                    within_limit(container, name, text, requests, found);
                }
                Some(_) => {}
            }
        }
    }
}

/// A request must not exceed the limit. For resources that cannot be shared, such as devices and huge pages, it must
/// equal the limit.
fn within_limit(
    container: &Value,
    name: &str,
    quantity: &str,
    field: &str,
    found: &mut Vec<FieldError>,
) {
    let limit = at(container, "/resources/limits").get(name);
    let Some(limit) = limit.and_then(Value::as_str) else {
        return;
    };
    let Some(order) = compare_quantities(quantity, limit) else {
        return;
    };
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    let shared = native && !name.starts_with("hugepages-");
    let wanted = match (shared, order) {
        (true, Ordering::Greater) => "less than or equal to",
        (false, Ordering::Less | Ordering::Greater) => "equal to",
        _ => return,
    };
    let detail = format!("must be {wanted} {name} limit of {limit}");
    found.push(FieldError::invalid(field, quantity, detail));
}

/// Only images, tolerations and two deadlines of an existing Pod may change.
pub(super) fn pod_update(object: &Value, old: &Value, found: &mut Vec<FieldError>) {
    let frozen = |pod: &Value| {
        let mut spec = pod.get("spec").cloned().unwrap_or_default();
        if let Value::Object(fields) = &mut spec {
            for free in [
                "activeDeadlineSeconds",
                "tolerations",
                "terminationGracePeriodSeconds",
                // The scheduler sets it once.
                "nodeName",
            ] {
                fields.remove(free);
            }
            for list in ["containers", "initContainers"] {
                let items = fields.get_mut(list).and_then(Value::as_array_mut);
                for container in items.into_iter().flatten() {
                    container.as_object_mut().map(|fields: &mut Map<_, _>| {
                        fields.remove("image");
                        fields.remove("resources")
                    });
                }
            }
        }
        spec
    };
    if frozen(object) != frozen(old) {
        let detail = "pod updates may not change fields other than \
                      `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                      (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if \
                      it was previously negative)";
        found.push(FieldError::forbidden("spec", detail));
    }
}

/// Refuses changes of ephemeral containers other than additions.
pub(super) fn ephemeral_update(object: &Value, old: &Value, found: &mut Vec<FieldError>) {
    const LIST: &str = "/spec/ephemeralContainers";
    let mut names: BTreeSet<&str> = ["/spec/containers", "/spec/initContainers"]
        .iter()
        .flat_map(|containers| list(object, containers))
        .map(|container| text(container, "/name"))
        .collect();
    let others = names.clone();
    for (index, container) in list(object, LIST).iter().enumerate() {
        let field = format!("spec.ephemeralContainers[{index}]");
        let name = text(container, "/name");
        if name.is_empty() {
            found.push(FieldError::required(format!("{field}.name"), ""));
        } else if !names.insert(name) {
            found.push(FieldError::duplicate(format!("{field}.name"), name.into()));
        }
        if text(container, "/image").is_empty() {
            found.push(FieldError::required(format!("{field}.image"), ""));
        }
        let target = text(container, "/targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            found.push(FieldError::new(
                FieldErrorKind::NotFound,
                format!("{field}.targetContainerName"),
                Value::from(target),
                "",
            ));
        }
        for forbidden in [
            "ports",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            if container.get(forbidden).is_some() {
                let detail = "cannot be set for an Ephemeral Container";
                found.push(FieldError::forbidden(
                    format!("{field}.{forbidden}"),
                    detail,
                ));
            }
        }
    }
    for old in list(old, LIST) {
        let name = text(old, "/name");
        let mut now = list(object, LIST).iter();
        let detail = match now.find(|container| text(container, "/name") == name) {
            None => format!("existing ephemeral containers {name:?} may not be removed\n"),
            Some(now) if now != old => {
                format!("existing ephemeral containers {name:?} may not be changed\n")
            }
            Some(_) => continue,
        };
        found.push(FieldError::forbidden("spec.ephemeralContainers", detail));
    }
}

/// Refuses changes of resources other than changes of cpu and memory that keep the QoS class.
pub(super) fn resize(object: &Value, old: &Value, found: &mut Vec<FieldError>) {
    let class = |pod: &Value| pod.get("spec").map(qos_class);
    if class(object) != class(old) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        let now = at(object, "/status/qosClass");
        found.push(FieldError::invalid("spec", now.clone(), detail));
    }
    let before = found.len();
    for kind in ["containers", "initContainers"] {
        let pointer = format!("/spec/{kind}");
        let (new, old) = (list(object, &pointer), list(old, &pointer));
        if new.len() != old.len() {
            let detail = format!("{kind} may not be added or removed on resize");
            found.push(FieldError::forbidden(format!("spec.{kind}"), detail));
            continue;
        }
        for (index, (new, old)) in new.iter().zip(old).enumerate() {
            if new.get("name") != old.get("name") {
                let detail = format!("{kind} may not be renamed or reordered on resize");
                found.push(FieldError::forbidden(
                    format!("spec.{kind}[{index}].name"),
                    detail,
                ));
            }
        }
    }
    if found.len() > before {
        return;
    }
    for kind in ["containers", "initContainers"] {
        let pointer = format!("/spec/{kind}");
        for (index, (new, old)) in list(object, &pointer)
            .iter()
            .zip(list(old, &pointer))
            .enumerate()
        {
            for what in ["requests", "limits"] {
                let of = |container: &Value| match at(container, &format!("/resources/{what}")) {
                    Value::Object(resources) => resources.clone(),
                    _ => Map::new(),
                };
                let (new, old) = (of(new), of(old));
                let field = format!("spec.{kind}[{index}].resources.{what}");
                if old.keys().any(|name| !new.contains_key(name)) {
                    let detail = format!("resource {what} cannot be removed");
                    found.push(FieldError::forbidden(field, detail));
                }
                let fixed = |name: &&String| !matches!(name.as_str(), "cpu" | "memory");
                if new
                    .keys()
                    .filter(fixed)
                    .any(|name| new.get(name) != old.get(name))
                {
                    let detail = "only cpu and memory resources are mutable";
                    found.push(FieldError::forbidden("spec", detail));
                }
            }
        }
    }
}
