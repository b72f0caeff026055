use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::fields::{each, fill, object};
use crate::go::{Quantity, canonical_quantity};

/// The defaults of a Pod specification, in a Pod or in a template.
pub(super) fn default_pod_spec(spec: &mut Map<String, Value>) {
    fill(spec, "restartPolicy", "Always");
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "terminationGracePeriodSeconds", 30);
    // A real server stops a Pod at once in this case.
    const GRACE: &str = "terminationGracePeriodSeconds";
    if spec
        .get(GRACE)
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        spec.insert(GRACE.into(), 1.into());
    }
    fill(spec, "schedulerName", "default-scheduler");
    fill(spec, "securityContext", json!({}));
    // The field has two names; the newer one counts.
    if let Some(name) = spec.get("serviceAccountName").cloned() {
        spec.insert("serviceAccount".into(), name);
    } else if let Some(name) = spec.get("serviceAccount").cloned() {
        fill(spec, "serviceAccountName", name);
    }
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        each(spec, list, |container| {
            default_container(container, host_network);
        });
    }
    each(spec, "volumes", default_volume);
    // The fields of features that are not on by default.
    for field in ["schedulingGroup", "evictionResponders"] {
        spec.remove(field);
    }
    if let Some(resources) = object(spec, "resources") {
        default_resources(resources);
    }
    if let Some(overhead) = object(spec, "overhead") {
        canonicalize(overhead);
    }
}

fn default_container(container: &mut Map<String, Value>, host_network: bool) {
    let policy = match container.get("image").and_then(Value::as_str) {
        Some(image) if is_latest(image) => "Always",
        _ => "IfNotPresent",
    };
    fill(container, "imagePullPolicy", policy);
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    fill(container, "resources", json!({}));
    // The field of a feature that is not on by default.
    each(container, "volumeMounts", |mount| {
        mount.remove("bindMountOptions");
    });
    if let Some(resources) = object(container, "resources") {
        default_resources(resources);
    }
    each(container, "ports", |port| {
        fill(port, "protocol", "TCP");
        if host_network && let Some(number) = port.get("containerPort").cloned() {
            fill(port, "hostPort", number);
        }
    });
    each(container, "env", |variable| {
        if let Some(from) = object(variable, "valueFrom") {
            if let Some(field) = object(from, "fieldRef") {
                fill(field, "apiVersion", "v1");
            }
            if let Some(resource) = object(from, "resourceFieldRef") {
                fill(resource, "divisor", "0");
            }
        }
    });
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = object(container, name) {
            fill(probe, "timeoutSeconds", 1);
            fill(probe, "periodSeconds", 10);
            fill(probe, "successThreshold", 1);
            fill(probe, "failureThreshold", 3);
            default_handler(probe);
        }
    }
    // The field of a feature that is not on by default.
    let signal = object(container, "lifecycle").is_some_and(|it| it.remove("stopSignal").is_some());
    if signal && object(container, "lifecycle").is_some_and(|it| it.is_empty()) {
        container.remove("lifecycle");
    }
    if let Some(lifecycle) = object(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = object(lifecycle, name) {
                default_handler(handler);
            }
        }
    }
}

fn default_handler(handler: &mut Map<String, Value>) {
    // The fields of features that are not on by default.
    for (action, field) in [("httpGet", "protocol"), ("grpc", "mode")] {
        if let Some(action) = object(handler, action) {
            action.remove(field);
        }
    }
    if let Some(get) = object(handler, "httpGet") {
        fill(get, "path", "/");
        fill(get, "scheme", "HTTP");
    }
    if let Some(grpc) = object(handler, "grpc") {
        fill(grpc, "service", "");
    }
}

/// Writes quantities in their canonical form. A limit without a request becomes the request.
pub(super) fn default_resources(resources: &mut Map<String, Value>) {
    for list in ["limits", "requests"] {
        if let Some(quantities) = object(resources, list) {
            canonicalize(quantities);
            // What is smaller than a thousandth counts as one.
            for quantity in quantities.values_mut() {
                let small = quantity.as_str().and_then(Quantity::parse);
                if let Some(rounded) = small.and_then(Quantity::rounded_to_milli) {
                    *quantity = rounded.to_string().into();
                }
            }
        }
    }
}

/// Turns numbers into strings, and strings into their canonical form. An invalid quantity stays for validation to
/// report.
pub(super) fn canonicalize(quantities: &mut Map<String, Value>) {
    for quantity in quantities.values_mut() {
        let text = match quantity {
            Value::String(text) => canonical_quantity(text),
            Value::Number(number) => canonical_quantity(&number.to_string()),
            _ => None,
        };
        if let Some(text) = text {
            *quantity = Value::String(text);
        }
    }
}

/// Sets missing requests to the limits. Applies to Pods, not to templates.
pub(super) fn request_limits(spec: &mut Map<String, Value>) {
    for list in ["containers", "initContainers"] {
        each(spec, list, |container| {
            let Some(resources) = object(container, "resources") else {
                return;
            };
            let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
                return;
            };
            fill(resources, "requests", json!({}));
            if let Some(requests) = object(resources, "requests") {
                for (name, quantity) in limits {
                    requests.entry(name).or_insert(quantity);
                }
            }
        });
    }
}

/// Adds the labels of the Pod itself to the selectors that ask for them.
pub(super) fn select_own_labels(pod: &mut Map<String, Value>) {
    let labels = pod
        .get("metadata")
        .and_then(|metadata| metadata.get("labels"));
    let Some(Value::Object(labels)) = labels.cloned() else {
        return;
    };
    let Some(spec) = object(pod, "spec") else {
        return;
    };
    each(spec, "topologySpreadConstraints", |term| {
        add_own_labels(term, &labels)
    });
    let Some(affinity) = object(spec, "affinity") else {
        return;
    };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = object(affinity, kind) else {
            continue;
        };
        each(
            pods,
            "requiredDuringSchedulingIgnoredDuringExecution",
            |term| {
                add_own_labels(term, &labels);
            },
        );
        each(
            pods,
            "preferredDuringSchedulingIgnoredDuringExecution",
            |term| {
                if let Some(term) = object(term, "podAffinityTerm") {
                    add_own_labels(term, &labels);
                }
            },
        );
    }
}

fn add_own_labels(term: &mut Map<String, Value>, labels: &Map<String, Value>) {
    let mut added = Vec::new();
    for (list, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys = term
            .get(list)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for key in keys.filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                added.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if !added.is_empty()
        && let Some(selector) = object(term, "labelSelector")
    {
        fill(selector, "matchExpressions", json!([]));
        if let Some(Value::Array(expressions)) = selector.get_mut("matchExpressions") {
            expressions.extend(added);
        }
    }
}

/// Completes what a Pod requests and limits as a whole from what its containers do, if it says anything of it.
pub(super) fn complete_pod_resources(spec: &mut Map<String, Value>) {
    let is_given = ["requests", "limits"].iter().any(|list| {
        let given = spec
            .get("resources")
            .and_then(|resources| resources.get(list));
        given
            .and_then(Value::as_object)
            .is_some_and(|given| !given.is_empty())
    });
    if !is_given {
        return;
    }
    let (requested, limited) = (
        of_containers(spec, "requests"),
        of_containers(spec, "limits"),
    );
    let everywhere = limited_everywhere(spec);
    let Some(resources) = object(spec, "resources") else {
        return;
    };
    let given = |resources: &Map<String, Value>, list: &str| {
        let given = resources.get(list).and_then(Value::as_object);
        given.cloned().unwrap_or_default()
    };
    let (mut requests, mut limits) = (given(resources, "requests"), given(resources, "limits"));
    for (name, quantity) in &limited {
        if name.starts_with("hugepages-") && !requests.contains_key(name) {
            limits
                .entry(name.clone())
                .or_insert_with(|| quantity.to_string().into());
        }
    }
    for (name, quantity) in &requested {
        if matches!(name.as_str(), "cpu" | "memory") {
            requests
                .entry(name.clone())
                .or_insert_with(|| quantity.to_string().into());
        }
    }
    let known = |name: &str| matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
    for (name, quantity) in limits.iter().filter(|(name, _)| known(name)) {
        requests
            .entry(name.clone())
            .or_insert_with(|| quantity.clone());
    }
    for (name, request) in requests.iter().filter(|(name, _)| known(name)) {
        let limit = limited.get(name).filter(|_| everywhere.contains(name));
        let (Some(limit), Some(request)) = (limit, request.as_str().and_then(Quantity::parse))
        else {
            continue;
        };
        // A limit is never below the request.
        let most = if request > *limit { request } else { *limit };
        limits
            .entry(name.clone())
            .or_insert_with(|| most.to_string().into());
    }
    for (list, quantities) in [("requests", requests), ("limits", limits)] {
        if !quantities.is_empty() {
            resources.insert(list.into(), Value::Object(quantities));
        }
    }
}

/// What the containers request or limit together. Those that begin before the others need their share alone.
fn of_containers(spec: &Map<String, Value>, list: &str) -> BTreeMap<String, Quantity> {
    let own = |container: &Value| -> Vec<(String, Quantity)> {
        let given = container.pointer(&format!("/resources/{list}"));
        let given = given.and_then(Value::as_object).into_iter().flatten();
        let parsed = given.filter_map(|(name, quantity)| {
            Some((name.clone(), quantity.as_str().and_then(Quantity::parse)?))
        });
        parsed.collect()
    };
    let mut sums: BTreeMap<String, Quantity> = BTreeMap::new();
    let add = |sums: &mut BTreeMap<String, Quantity>, name: String, more: Quantity| {
        let sum = match sums.remove(&name) {
            Some(sum) => sum.plus(more),
            None => more,
        };
        sums.insert(name, sum);
    };
    let containers = |list: &str| {
        spec.get(list)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    for container in containers("containers") {
        for (name, more) in own(container) {
            add(&mut sums, name, more);
        }
    }
    // A sidecar runs beside those that begin after it, and beside all containers.
    let (mut beside, mut begins) = (
        BTreeMap::<String, Quantity>::new(),
        BTreeMap::<String, Quantity>::new(),
    );
    for container in containers("initContainers") {
        let is_sidecar = container["restartPolicy"] == "Always";
        for (name, more) in own(container) {
            if is_sidecar {
                add(&mut sums, name.clone(), more);
                add(&mut beside, name.clone(), more);
            } else {
                let together = match beside.get(&name) {
                    Some(others) => others.plus(more),
                    None => more,
                };
                if begins.get(&name).is_none_or(|most| together > *most) {
                    begins.insert(name, together);
                }
            }
        }
    }
    for (name, alone) in begins {
        if sums.get(&name).is_none_or(|sum| alone > *sum) {
            sums.insert(name, alone);
        }
    }
    sums
}

/// The resources that each container limits.
fn limited_everywhere(spec: &Map<String, Value>) -> BTreeSet<String> {
    let lists = ["containers", "initContainers"];
    let containers = lists.iter().filter_map(|list| spec.get(*list)?.as_array());
    let limits = containers.flatten().map(|container| -> BTreeSet<String> {
        let limits = container.pointer("/resources/limits");
        let limits = limits.and_then(Value::as_object).into_iter().flatten();
        limits.map(|(name, _)| name.clone()).collect()
    });
    let common = limits.reduce(|all, own| &all & &own);
    common.unwrap_or_default()
}

/// Drops the fields of a feature that is not on by default: the owners of files in volumes.
fn without_users(source: &mut Map<String, Value>) {
    source.remove("defaultUser");
    source.remove("user");
    each(source, "items", |item| {
        item.remove("user");
    });
}

fn default_volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|key| key == "name") {
        fill(volume, "emptyDir", json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = object(volume, source) {
            fill(source, "defaultMode", 0o644);
            default_items(source);
            without_users(source);
            each(source, "sources", |part| {
                for part in part.values_mut().filter_map(Value::as_object_mut) {
                    without_users(part);
                }
                if let Some(token) = object(part, "serviceAccountToken") {
                    fill(token, "expirationSeconds", 3600);
                }
                if let Some(fields) = object(part, "downwardAPI") {
                    default_items(fields);
                }
            });
        }
    }
    // The field of a feature that is not on by default.
    if let Some(directory) = object(volume, "emptyDir") {
        directory.remove("mode");
    }
    if let Some(path) = object(volume, "hostPath") {
        default_host_path(path);
    }
    if let Some(image) = object(volume, "image") {
        let policy = match image.get("reference").and_then(Value::as_str) {
            Some(reference) if is_latest(reference) => "Always",
            _ => "IfNotPresent",
        };
        fill(image, "pullPolicy", policy);
    }
    if let Some(disk) = object(volume, "azureDisk") {
        fill(disk, "readOnly", false);
    }
    let template = object(volume, "ephemeral").and_then(|it| object(it, "volumeClaimTemplate"));
    if let Some(claim) = template.and_then(|template| object(template, "spec")) {
        fill(claim, "volumeMode", "Filesystem");
        if let Some(resources) = object(claim, "resources") {
            default_resources(resources);
        }
    }
    if let Some(directory) = object(volume, "emptyDir")
        && directory.contains_key("sizeLimit")
    {
        canonicalize_field(directory, "sizeLimit");
    }
}

pub(super) fn default_host_path(path: &mut Map<String, Value>) {
    fill(path, "type", "");
}

/// Writes one quantity in its canonical form.
pub(super) fn canonicalize_field(fields: &mut Map<String, Value>, name: &str) {
    let mut one = Map::new();
    if let Some(value) = fields.remove(name) {
        one.insert(name.to_owned(), value);
    }
    canonicalize(&mut one);
    fields.extend(one);
}

fn default_items(source: &mut Map<String, Value>) {
    each(source, "items", |item| {
        if let Some(field) = object(item, "fieldRef") {
            fill(field, "apiVersion", "v1");
        }
    });
}

/// Whether an image is pulled each time: it has no tag and no digest, or the tag `latest`.
fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    // A colon before the last slash belongs to the port of the registry.
    let name = image.rsplit('/').next().unwrap_or(image);
    name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

#[cfg(test)]
mod tests {
    use super::is_latest;

    #[test]
    fn only_latest_images_are_pulled_each_time() {
        assert!(is_latest("nginx") && is_latest("nginx:latest") && is_latest("host:5000/nginx"));
        assert!(!is_latest("nginx:1.27") && !is_latest("host:5000/nginx:1"));
        assert!(!is_latest("nginx@sha256:00"));
    }
}
