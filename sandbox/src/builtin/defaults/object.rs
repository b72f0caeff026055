use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::fields::{each, ensure, fill, object};
use super::pod::{
    canonicalize, complete_pod_resources, default_pod_spec, default_resources, request_limits,
    select_own_labels,
};
use super::{admission, autoscaler, definition, devices, limits, network, service, storage};
use crate::builtin::conversion::shared_storage;
use crate::builtin::written::{drop_unset, fill_written};
use crate::registry::ServedKind;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Fills in the defaults that a real server sets before it stores an object of a built-in kind.
///
/// The caller calls it on create and on every update, before validation; it is idempotent. It also drops fields whose
/// value the Go types of a real server cannot tell from an absent field, and adds fields that these types always write.
/// Objects of other kinds stay as they are.
pub(crate) fn default_object(kind: &ServedKind, value: &mut Value) {
    if kind.is_custom() {
        return;
    }
    if !keeps_json(kind) {
        drop_unset(kind, value);
    }
    if let Some(conversion) = shared_storage(&kind.group, &kind.version, &kind.plural)
        && kind.kind == "HorizontalPodAutoscaler"
    {
        // A real server fills in the defaults of version 1 while it converts.
        *value = (conversion.from_stored)(&(conversion.to_stored)(value));
        if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
            fill(spec, "minReplicas", 1);
        }
    } else if let Value::Object(fields) = value {
        default_fields(kind, fields);
    }
    fill_written(kind, value);
}

/// Whether objects contain JSON of the user, in which null and an empty list have a meaning.
pub(in crate::builtin) fn keeps_json(kind: &ServedKind) -> bool {
    kind.is_custom()
        || matches!(
            kind.kind.as_str(),
            "CustomResourceDefinition" | "ControllerRevision"
        )
}

/// Adds what a real server computes for a new object, or for a change of `old`. No manager owns these fields.
///
/// A Job's selector is made from `metadata.uid`, which must be set before.
pub(crate) fn complete_object(kind: &ServedKind, value: &mut Value, old: Option<&Value>) {
    let Value::Object(fields) = value else { return };
    match (kind.group.as_str(), kind.kind.as_str(), old) {
        ("", "Service", Some(old)) => service::keep_allocated(fields, old),
        ("", "Namespace", None) => namespace_finalizer(fields),
        ("", "Pod", None) => {
            select_own_labels(fields);
            if let Some(spec) = object(fields, "spec") {
                complete_pod_resources(spec);
            }
            let class = fields.get("spec").map_or("BestEffort", qos_class);
            if let Some(status) = ensure(fields, "status") {
                status.insert("qosClass".into(), class.into());
            }
        }
        ("", "Pod", Some(old)) => {
            // A client that does not know this field may leave it out.
            let kept = old.pointer("/spec/resources").cloned();
            if let (Some(kept), Some(spec)) = (kept, object(fields, "spec")) {
                fill(spec, "resources", kept);
            }
        }
        ("batch", "Job", None) => job_selector(fields),
        ("", "PersistentVolumeClaim", None) => data_sources(fields),
        ("coordination.k8s.io", "Lease", None) => {
            // The fields of a feature that is not on by default.
            if let Some(spec) = object(fields, "spec") {
                spec.remove("strategy");
                spec.remove("preferredHolder");
            }
        }
        ("discovery.k8s.io", "EndpointSlice", None) => {
            each(fields, "endpoints", |endpoint| {
                endpoint.remove("deprecatedTopology");
            });
        }
        ("apps", "DaemonSet", Some(old)) => count_templates(fields, old),
        _ => {}
    }
}

/// Adds what a read shows in addition to the stored object: a Job without labels shows the labels of its Pods.
pub(crate) fn shown_object(kind: &ServedKind, value: &mut Value) {
    if (kind.group.as_str(), kind.kind.as_str()) != ("batch", "Job") {
        return;
    }
    let labels = value.pointer("/spec/template/metadata/labels").cloned();
    let metadata = value.get_mut("metadata").and_then(Value::as_object_mut);
    if let (Some(labels), Some(metadata)) = (labels, metadata) {
        fill(metadata, "labels", labels);
    }
}

fn default_fields(kind: &ServedKind, fields: &mut Map<String, Value>) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => namespace(fields),
        ("", "Pod") => pod(fields),
        ("", "Service") => service::service(fields),
        ("", "Secret") => secret(fields),
        ("", "PersistentVolumeClaim") => claim(fields),
        ("", "Node") => node(fields),
        ("", "ReplicationController") => replication_controller(fields),
        ("", "PodTemplate") => template(fields),
        ("", "Endpoints") => network::endpoints(fields),
        ("", "LimitRange") => limits::limit_range(fields),
        ("", "ResourceQuota") => limits::quota(fields),
        ("", "PersistentVolume") => storage::volume(fields),
        ("admissionregistration.k8s.io", name) => admission::admission(name, fields),
        ("apiregistration.k8s.io", "APIService") => api_service(fields),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::autoscaler(fields),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(fields),
        ("flowcontrol.apiserver.k8s.io", name) => limits::flow_control(name, fields),
        ("networking.k8s.io", name) => network::networking(name, fields),
        ("node.k8s.io", "RuntimeClass") => runtime_class(fields),
        ("resource.k8s.io", name) => devices::devices(name, fields),
        ("scheduling.k8s.io", "PriorityClass") => {
            fill(fields, "preemptionPolicy", "PreemptLowerPriority");
        }
        ("storage.k8s.io", name) => storage::storage(name, fields),
        ("policy", "PodDisruptionBudget") => disruption_budget(fields),
        ("apps", name) => app(name, fields),
        ("batch", "Job") => job(fields),
        ("batch", "CronJob") => cron_job(fields),
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => binding(fields),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition::definition(fields),
        _ => {}
    }
}

fn namespace(fields: &mut Map<String, Value>) {
    if let Some(metadata) = object(fields, "metadata")
        && let Some(name) = metadata.get("name").cloned()
        && let Some(labels) = ensure(metadata, "labels")
    {
        labels.insert("kubernetes.io/metadata.name".into(), name);
    }
    let leaving = fields
        .get("metadata")
        .is_some_and(|metadata| metadata.get("deletionTimestamp").is_some());
    if !leaving && let Some(status) = ensure(fields, "status") {
        fill(status, "phase", "Active");
    }
}

/// Lets a new namespace stay until its content is gone.
fn namespace_finalizer(fields: &mut Map<String, Value>) {
    const FINALIZER: &str = "kubernetes";
    if let Some(spec) = ensure(fields, "spec") {
        fill(spec, "finalizers", json!([]));
        let all = spec.get_mut("finalizers").and_then(Value::as_array_mut);
        if let Some(all) = all.filter(|all| !all.contains(&json!(FINALIZER))) {
            all.push(FINALIZER.into());
        }
    }
}

fn pod(fields: &mut Map<String, Value>) {
    if let Some(spec) = object(fields, "spec") {
        default_pod_spec(spec);
        fill(spec, "enableServiceLinks", true);
        request_limits(spec);
    }
    let class = fields.get("spec").map_or("BestEffort", qos_class);
    if let Some(status) = ensure(fields, "status") {
        fill(status, "phase", "Pending");
        fill(status, "qosClass", class);
    }
}

/// Returns `Guaranteed` if every container limits cpu and memory to what it requests, `BestEffort` if no container has
/// a request or a limit.
pub(crate) fn qos_class(spec: &Value) -> &'static str {
    let lists = ["containers", "initContainers"];
    let containers = lists
        .iter()
        .filter_map(|list| spec.get(list)?.as_array())
        .flatten();
    let (mut any, mut guaranteed) = (false, true);
    // What the Pod has as a whole counts alone.
    let whole = spec.get("resources").is_some_and(|resources| {
        ["requests", "limits"]
            .iter()
            .any(|list| resources.get(list).is_some())
    });
    let owners = containers
        .filter(|_| !whole)
        .chain(Some(spec).filter(|_| whole));
    for owner in owners {
        for name in ["cpu", "memory"] {
            let request = owner.pointer(&format!("/resources/requests/{name}"));
            let limit = owner.pointer(&format!("/resources/limits/{name}"));
            any |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && request == limit;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

fn secret(fields: &mut Map<String, Value>) {
    fill(fields, "type", "Opaque");
    // `stringData` is write-only: it is merged into `data`.
    if let Some(Value::Object(plain)) = fields.remove("stringData")
        && let Some(data) = ensure(fields, "data")
    {
        for (key, value) in plain {
            let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
            data.insert(key, Value::String(encoded));
        }
    }
}

fn claim(fields: &mut Map<String, Value>) {
    if let Some(spec) = object(fields, "spec") {
        fill(spec, "volumeMode", "Filesystem");
        if let Some(resources) = object(spec, "resources") {
            default_resources(resources);
        }
    }
    if let Some(status) = ensure(fields, "status") {
        fill(status, "phase", "Pending");
    }
}

/// Where the content of a volume comes from has two names. The older one knows two kinds only.
fn data_sources(fields: &mut Map<String, Value>) {
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    let is_known = spec.get("dataSource").is_some_and(|source| {
        let text = |field: &str| {
            source
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        matches!(
            (text("apiGroup"), text("kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    });
    if !is_known {
        spec.remove("dataSource");
    }
    for (from, to) in [
        ("dataSource", "dataSourceRef"),
        ("dataSourceRef", "dataSource"),
    ] {
        let source = spec.get(from).cloned();
        let elsewhere = source
            .as_ref()
            .is_some_and(|source| source.get("namespace").is_some());
        if let Some(mut source) = source.filter(|_| !elsewhere) {
            if let Some(fields) = source.as_object_mut() {
                fill(fields, "apiGroup", Value::Null);
            }
            fill(spec, to, source);
        }
    }
}

fn node(fields: &mut Map<String, Value>) {
    if let Some(spec) = object(fields, "spec") {
        // The feature of the first is gone, and that of the other is not on by default.
        for field in ["configSource", "podPreemptionPolicy"] {
            spec.remove(field);
        }
        // The first network has two names; each is set from the other.
        let first = spec.get("podCIDRs").and_then(|all| all.get(0)).cloned();
        if let Some(first) = first {
            fill(spec, "podCIDR", first);
        } else if let Some(only) = spec.get("podCIDR").cloned() {
            fill(spec, "podCIDRs", json!([only]));
        }
    }
    if let Some(status) = object(fields, "status") {
        for list in ["capacity", "allocatable"] {
            if let Some(quantities) = object(status, list) {
                canonicalize(quantities);
            }
        }
        if let Some(capacity) = status.get("capacity").cloned() {
            fill(status, "allocatable", capacity);
        }
    }
}

fn template(spec: &mut Map<String, Value>) {
    if let Some(template) = ensure(spec, "template")
        && let Some(pod) = ensure(template, "spec")
    {
        default_pod_spec(pod);
    }
}

fn replication_controller(fields: &mut Map<String, Value>) {
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    if spec.contains_key("template") {
        template(spec);
    }
    fill(spec, "replicas", 1);
    let labels = spec
        .get("template")
        .and_then(|template| template.pointer("/metadata/labels"));
    if let Some(labels) = labels.cloned() {
        fill(spec, "selector", labels.clone());
        if let Some(metadata) = ensure(fields, "metadata") {
            fill(metadata, "labels", labels);
        }
    }
    if let Some(status) = ensure(fields, "status") {
        fill(status, "replicas", 0);
    }
}

/// Its counters are always present.
fn disruption_budget(fields: &mut Map<String, Value>) {
    if let Some(status) = ensure(fields, "status") {
        for number in [
            "currentHealthy",
            "desiredHealthy",
            "disruptionsAllowed",
            "expectedPods",
        ] {
            fill(status, number, 0);
        }
    }
}

fn app(kind: &str, fields: &mut Map<String, Value>) {
    if kind == "DaemonSet" {
        first_template(fields);
    }
    if kind == "ControllerRevision" {
        return;
    }
    let Some(spec) = ensure(fields, "spec") else {
        return;
    };
    template(spec);
    match kind {
        "Deployment" => {
            fill(spec, "replicas", 1);
            fill(spec, "revisionHistoryLimit", 10);
            fill(spec, "progressDeadlineSeconds", 600);
            rolling(spec, "strategy", |update| {
                fill(update, "maxSurge", "25%");
                fill(update, "maxUnavailable", "25%");
            });
        }
        "ReplicaSet" => fill(spec, "replicas", 1),
        "StatefulSet" => {
            fill(spec, "replicas", 1);
            fill(spec, "revisionHistoryLimit", 10);
            fill(spec, "podManagementPolicy", "OrderedReady");
            if let Some(policy) = ensure(spec, "persistentVolumeClaimRetentionPolicy") {
                fill(policy, "whenDeleted", "Retain");
                fill(policy, "whenScaled", "Retain");
            }
            rolling(spec, "updateStrategy", |update| {
                fill(update, "partition", 0);
                fill(update, "maxUnavailable", 1);
            });
            each(spec, "volumeClaimTemplates", |template| {
                fill(template, "apiVersion", "v1");
                fill(template, "kind", "PersistentVolumeClaim");
                claim(template);
            });
        }
        "DaemonSet" => {
            fill(spec, "revisionHistoryLimit", 10);
            rolling(spec, "updateStrategy", |update| {
                fill(update, "maxSurge", 0);
                fill(update, "maxUnavailable", 1);
            });
        }
        _ => {}
    }
}

const TEMPLATES: &str = "deprecated.daemonset.template.generation";

/// The first template of a DaemonSet.
fn first_template(fields: &mut Map<String, Value>) {
    if let Some(metadata) = ensure(fields, "metadata")
        && let Some(annotations) = ensure(metadata, "annotations")
    {
        fill(annotations, TEMPLATES, "1");
    }
}

/// Counts the templates of a DaemonSet in an annotation.
fn count_templates(fields: &mut Map<String, Value>, old: &Value) {
    let count = old
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(TEMPLATES));
    let mut count: u64 = count
        .and_then(|count| count.as_str()?.parse().ok())
        .unwrap_or(1);
    let template = fields.get("spec").and_then(|spec| spec.get("template"));
    if template != old.pointer("/spec/template") {
        count += 1;
    }
    if let Some(metadata) = ensure(fields, "metadata")
        && let Some(annotations) = ensure(metadata, "annotations")
    {
        annotations.insert(TEMPLATES.into(), count.to_string().into());
    }
}

fn rolling(
    spec: &mut Map<String, Value>,
    key: &str,
    defaults: impl FnOnce(&mut Map<String, Value>),
) {
    let Some(strategy) = ensure(spec, key) else {
        return;
    };
    fill(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate")
        && let Some(update) = ensure(strategy, "rollingUpdate")
    {
        defaults(update);
    }
}

fn job(fields: &mut Map<String, Value>) {
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    template(spec);
    // The field of a feature that is not on by default.
    spec.remove("scheduling");
    // Without both, one Pod must succeed; with only `parallelism`, the Job is a work queue.
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        fill(spec, "completions", 1);
    }
    fill(spec, "parallelism", 1);
    let tries = match spec.contains_key("backoffLimitPerIndex") {
        true => i32::MAX,
        false => 6,
    };
    fill(spec, "backoffLimit", tries);
    failure_policy(spec);
    fill(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    fill(spec, "manualSelector", false);
    let replacement = if spec.contains_key("podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    fill(spec, "podReplacementPolicy", replacement);
}

fn failure_policy(spec: &mut Map<String, Value>) {
    if let Some(policy) = object(spec, "podFailurePolicy") {
        each(policy, "rules", |rule| {
            each(rule, "onPodConditions", |pattern| {
                fill(pattern, "status", "True");
            });
        });
    }
}

/// The selector of a Job, and the labels of its Pods that it selects.
fn job_selector(fields: &mut Map<String, Value>) {
    let metadata = fields.get("metadata");
    let text = |key: &str| Some(metadata?.get(key)?.as_str()?.to_owned());
    let (uid, name) = (text("uid"), text("name"));
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    let manual = spec.get("manualSelector") == Some(&Value::Bool(true));
    if manual {
        return;
    }
    let (Some(uid), Some(name)) = (uid, name) else {
        return;
    };
    if let Some(selector) = ensure(spec, "selector")
        && let Some(labels) = ensure(selector, "matchLabels")
    {
        fill(labels, "batch.kubernetes.io/controller-uid", uid.as_str());
    }
    if let Some(template) = ensure(spec, "template")
        && let Some(metadata) = ensure(template, "metadata")
        && let Some(labels) = ensure(metadata, "labels")
    {
        for prefix in ["batch.kubernetes.io/", ""] {
            fill(labels, &format!("{prefix}controller-uid"), uid.as_str());
            fill(labels, &format!("{prefix}job-name"), name.as_str());
        }
    }
}

fn cron_job(fields: &mut Map<String, Value>) {
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    fill(spec, "concurrencyPolicy", "Allow");
    fill(spec, "suspend", false);
    fill(spec, "successfulJobsHistoryLimit", 3);
    fill(spec, "failedJobsHistoryLimit", 1);
    if let Some(job) = ensure(spec, "jobTemplate")
        && let Some(spec) = ensure(job, "spec")
    {
        template(spec);
        failure_policy(spec);
    }
}

fn binding(fields: &mut Map<String, Value>) {
    if let Some(role) = object(fields, "roleRef") {
        fill(role, "apiGroup", RBAC);
    }
    each(fields, "subjects", |subject| {
        if let Some("User" | "Group") = subject.get("kind").and_then(Value::as_str) {
            fill(subject, "apiGroup", RBAC);
        }
    });
}

fn api_service(fields: &mut Map<String, Value>) {
    if let Some(spec) = object(fields, "spec")
        && let Some(service) = object(spec, "service")
    {
        admission::service_port(service);
    }
}

fn runtime_class(fields: &mut Map<String, Value>) {
    if let Some(overhead) = object(fields, "overhead")
        && let Some(fixed) = object(overhead, "podFixed")
    {
        canonicalize(fixed);
    }
}
