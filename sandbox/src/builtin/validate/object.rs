use serde_json::{Map, Value};

use super::api_service::api_service;
use super::apps::{at_most_all, int_or_percent};
use super::autoscaler::autoscaler;
use super::event::event;
use super::fields::{at, map};
use super::internal_form::internal_invalid;
use super::part::Part;
use super::pod::{ephemeral_update, pod, pod_template, pod_update, resize};
use super::secret::secret;
use super::selector::label_selector;
use super::{
    addresses, admission, apps, certificates, claims, classes, devices, flow_control, job, limits,
    migration, network, node, policies, rbac, service, storage,
};
use crate::builtin::autoscaler_to_stored;
use crate::registry::ServedKind;
use crate::schema::FieldError;

/// Validates an object of a built-in kind that is created or replaces `old`, as a real server does in code.
///
/// The caller calls it after defaulting, for the main resource. It covers what users of the API meet: selectors and
/// templates, names and images of containers, ports, keys of ConfigMaps and Secrets, immutable fields. The schema
/// validates types and required fields; `api` validates the metadata of every kind.
pub(crate) fn validate_object(
    kind: &ServedKind,
    subresource: &str,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if kind.is_custom() {
        return errors;
    }
    let found = &mut errors;
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            pod(object, old.is_none(), found);
            if let Some(old) = old {
                match subresource {
                    "ephemeralcontainers" => ephemeral_update(object, old, found),
                    "resize" => resize(object, old, found),
                    // The scheduler sets the node once.
                    "binding" => {}
                    _ => pod_update(object, old, found),
                }
            }
        }
        ("", "Service") => service::service(object, old, found),
        ("", "ConfigMap") => config_map(object, old, found),
        ("", "Secret") => secret(object, old, found),
        ("apps", "Deployment") => apps::deployment(object, old, found),
        ("apps", "ReplicaSet") => apps::replica_set(object, old, found),
        ("apps", "StatefulSet") => apps::stateful_set(object, old, found),
        ("apps", "DaemonSet") => apps::daemon_set(object, old, found),
        ("apps", "ControllerRevision") => apps::revision(object, old, found),
        ("", "ReplicationController") => apps::replication_controller(object, found),
        ("batch", "Job") => job::job(object, old, found),
        ("batch", "CronJob") => job::cron_job(object, old, found),
        ("rbac.authorization.k8s.io", kind) => {
            let in_namespace = !kind.starts_with("Cluster");
            match kind.ends_with("Binding") {
                true => rbac::binding(object, old, in_namespace, found),
                false => rbac::role(object, in_namespace, found),
            }
        }
        ("", "Event") => event(object, false, old, found),
        ("events.k8s.io", "Event") => event(object, true, old, found),
        ("policy", "PodDisruptionBudget") => budget(object, found),
        ("coordination.k8s.io", "Lease") => lease(object, found),
        ("", "Endpoints") => network::endpoints(object, found),
        ("", "LimitRange") => limits::limit_range(object, found),
        ("", "PersistentVolumeClaim") => claims::claim(object, old, found),
        ("", "Node") => node::node(object, old, found),
        ("", "Namespace") => node::namespace(object, found),
        ("", "PersistentVolume") => storage::volume(object, old, found),
        ("", "PodTemplate") => pod_template(&Part::new(object, "").get("template"), found),
        ("", "ResourceQuota") => limits::quota(object, old, found),
        ("admissionregistration.k8s.io", kind) => {
            let mutating = kind.starts_with("Mutating");
            match kind
                .trim_start_matches("Mutating")
                .trim_start_matches("Validating")
            {
                "WebhookConfiguration" => admission::webhooks(object, mutating, found),
                "AdmissionPolicy" => policies::policy(object, mutating, found),
                _ => policies::policy_binding(object, mutating, found),
            }
        }
        ("apiregistration.k8s.io", "APIService") => api_service(object, found),
        ("autoscaling", "HorizontalPodAutoscaler") if kind.version == "v1" => {
            autoscaler(&autoscaler_to_stored(object), found);
        }
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler(object, found),
        ("certificates.k8s.io", kind) => match kind {
            "ClusterTrustBundle" => certificates::trust_bundle(object, old, found),
            "PodCertificateRequest" => certificates::pod_certificate_request(object, old, found),
            _ => certificates::request(subresource, object, old, found),
        },
        ("discovery.k8s.io", _) => network::endpoint_slice(object, old, found),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => flow_control::flow_schema(object, found),
        ("flowcontrol.apiserver.k8s.io", _) => flow_control::priority_level(object, found),
        ("networking.k8s.io", kind) => match kind {
            "Ingress" => network::ingress(object, old, found),
            "IngressClass" => network::ingress_class(object, old, found),
            "NetworkPolicy" => network::network_policy(object, found),
            "IPAddress" => addresses::ip_address(object, old, found),
            _ => addresses::service_range(object, old, found),
        },
        ("node.k8s.io", _) => classes::runtime_class(object, old, found),
        ("resource.k8s.io", kind) => devices::devices(kind, object, old, found),
        ("scheduling.k8s.io", _) => classes::priority_class(object, old, found),
        ("storage.k8s.io", kind) => storage::storage(kind, object, old, found),
        ("storagemigration.k8s.io", _) => migration::migration(object, old, found),
        _ => {}
    }
    errors
}

fn budget(object: &Value, found: &mut Vec<FieldError>) {
    let spec = Part::new(object, "").get("spec");
    let fields = ["minAvailable", "maxUnavailable"].map(|field| spec.set(field));
    if fields.iter().flatten().count() == 2 {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        let kind = "policy.PodDisruptionBudgetSpec";
        found.push(internal_invalid(kind, &spec.path, spec.value, detail));
    }
    for field in fields.iter().flatten() {
        int_or_percent(field, found);
        at_most_all(field, found);
    }
    if let Some(selector) = spec.set("selector") {
        label_selector(selector.value, &selector.path, found);
    }
    let policies = &["AlwaysAllow", "IfHealthyBudget"];
    let policy = spec.get("unhealthyPodEvictionPolicy");
    policy.one_of_if_set(policies, found);
}

const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  \
                   or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// The errors in a key of a ConfigMap or Secret.
pub(super) fn key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if key.len() > 253 {
        errors.push("must be no more than 253 characters".to_owned());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || !key.chars().all(allowed) {
        errors.push(KEY.to_owned());
    }
    if key == "." || key == ".." {
        errors.push(format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        errors.push("must not start with '..'".to_owned());
    }
    errors
}

/// A ConfigMap or Secret holds at most one MiB.
pub(super) const DATA_LIMIT: usize = 1024 * 1024;

fn config_map(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let mut size = 0;
    for (list, other) in [("data", "binaryData"), ("binaryData", "data")] {
        for (key, value) in map(object, &format!("/{list}")) {
            let field = format!("{list}[{key}]");
            for wrong in key_errors(key) {
                found.push(FieldError::invalid(&field, key.as_str(), wrong));
            }
            if list == "data" && at(object, "/binaryData").get(key).is_some() {
                let detail = format!("duplicate of key present in {other}");
                found.push(FieldError::invalid(&field, key.as_str(), detail));
            }
            size += value.as_str().map_or(0, str::len);
        }
    }
    if size > DATA_LIMIT {
        let limit = u64::try_from(DATA_LIMIT).unwrap_or(u64::MAX);
        // A real server names no field.
        found.push(FieldError::too_long("[]", limit));
    }
    frozen(object, old, &["data", "binaryData"], found);
}

/// Refuses changes of a ConfigMap or Secret that was made immutable.
pub(super) fn frozen(
    object: &Value,
    old: Option<&Value>,
    fields: &[&str],
    found: &mut Vec<FieldError>,
) {
    let Some(old) = old.filter(|old| at(old, "/immutable") == true) else {
        return;
    };
    let detail = "field is immutable when `immutable` is set";
    if at(object, "/immutable") != true {
        found.push(FieldError::forbidden("immutable", detail));
    }
    for field in fields {
        let empty = Value::Object(Map::new());
        let of = |object: &Value| object.get(field).cloned().unwrap_or_else(|| empty.clone());
        if of(object) != of(old) {
            found.push(FieldError::forbidden(*field, detail));
        }
    }
}

fn lease(object: &Value, found: &mut Vec<FieldError>) {
    let seconds = at(object, "/spec/leaseDurationSeconds");
    if seconds.as_i64().is_some_and(|seconds| seconds <= 0) {
        let field = "spec.leaseDurationSeconds";
        found.push(FieldError::invalid(
            field,
            seconds.clone(),
            "must be greater than 0",
        ));
    }
    let transitions = at(object, "/spec/leaseTransitions");
    if transitions.as_i64().is_some_and(|count| count < 0) {
        let field = "spec.leaseTransitions";
        found.push(FieldError::invalid(
            field,
            transitions.clone(),
            "must be greater than or equal to 0",
        ));
    }
}
