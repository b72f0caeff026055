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
    // The field has two names; each is set from the other.
    if let Some(name) = spec.get("serviceAccountName").cloned() {
        fill(spec, "serviceAccount", name);
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
    // The field of a feature that is not on by default.
    spec.remove("schedulingGroup");
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
    request_limits_of_pod(spec);
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

/// A Pod whose limits are its own requests what its containers request together, or else its limits.
fn request_limits_of_pod(spec: &mut Map<String, Value>) {
    let mut sums: Map<String, Value> = Map::new();
    let containers = spec.get("containers").and_then(Value::as_array);
    for container in containers.into_iter().flatten() {
        let own = |list: &str| container.pointer(&format!("/resources/{list}"));
        let requests = own("requests").or_else(|| own("limits"));
        for (name, quantity) in requests.and_then(Value::as_object).into_iter().flatten() {
            let more = quantity.as_str().and_then(Quantity::parse);
            let sum = sums
                .get(name)
                .and_then(Value::as_str)
                .and_then(Quantity::parse);
            if let Some(more) = more {
                let sum = sum.map_or(more, |sum| sum.plus(more));
                sums.insert(name.clone(), sum.to_string().into());
            }
        }
    }
    let Some(resources) = object(spec, "resources") else {
        return;
    };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    fill(resources, "requests", json!({}));
    if let Some(requests) = object(resources, "requests") {
        let known = |name: &str| matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
        for (name, quantity) in limits.into_iter().filter(|(name, _)| known(name)) {
            let sum = sums.remove(&name);
            requests.entry(name).or_insert(sum.unwrap_or(quantity));
        }
    }
}

fn default_volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|key| key == "name") {
        fill(volume, "emptyDir", json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = object(volume, source) {
            fill(source, "defaultMode", 0o644);
            default_items(source);
            each(source, "sources", |part| {
                // A kind that is not served by default.
                part.remove("clusterTrustBundle");
                if let Some(token) = object(part, "serviceAccountToken") {
                    fill(token, "expirationSeconds", 3600);
                }
                if let Some(fields) = object(part, "downwardAPI") {
                    default_items(fields);
                }
            });
        }
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
