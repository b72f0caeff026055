use std::collections::BTreeSet;

use serde_json::Value;

use super::super::fields::address;
use super::super::part::Part;
use super::super::selector::labels_are_valid;
use super::containers::Surroundings;
use super::{annotations, claim, containers, network, placement, resources, security, volumes};
use crate::names;
use crate::schema::FieldError;

/// A Pod that is created.
pub(in super::super) fn pod(object: &Value, is_new: bool, found: &mut Vec<FieldError>) {
    let pod = Part::new(object, "");
    annotations::of_pod(&pod.get("metadata"), &pod.get("spec"), found);
    let spec = pod.get("spec");
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    pod_spec(&spec, name, found);
    volumes::tokens_need_an_account(&spec, found);
    for list in ["containers", "initContainers"] {
        for container in spec.items(list) {
            containers::image_of_pod(&container, found);
        }
    }
    if !is_new {
        return;
    }
    if !spec.list("ephemeralContainers").is_empty() {
        let containers = spec.get("ephemeralContainers");
        containers.forbidden("cannot be set on create", found);
    }
    if !spec.text_of("nodeName").is_empty() && !spec.list("schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        spec.get("nodeName").forbidden(detail, found);
    }
}

/// The template of Pods: a real server leaves `metadata` out of the paths of its labels and annotations.
pub(in super::super) fn pod_template(template: &Part, found: &mut Vec<FieldError>) {
    let (metadata, spec) = (template.get("metadata"), template.get("spec"));
    let labels = metadata.get("labels");
    labels_are_valid(
        labels.value.as_object(),
        &template.get("labels").path,
        found,
    );
    let path = template.get("annotations").path;
    annotations::keys(&metadata.get("annotations").named_as(&path), found);
    annotations::of_template(&metadata.get("annotations").named_as(path), &spec, found);
    pod_spec(&spec, None, found);
    if !spec.list("ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        spec.get("ephemeralContainers").forbidden(detail, found);
    }
}

/// The specification of a Pod, whose name is `None` in a template.
fn pod_spec(spec: &Part, pod_name: Option<&str>, found: &mut Vec<FieldError>) {
    let volumes = volumes::volumes(spec, pod_name, found);
    let claims: BTreeSet<&str> = spec
        .list("resourceClaims")
        .iter()
        .filter_map(|claim| claim.get("name")?.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    claim::claims(spec, found);
    let surroundings = Surroundings::new(spec, volumes, claims);
    containers::regular(spec, &surroundings, found);
    containers::initial(spec, &surroundings, found);
    containers::ephemeral(spec, &surroundings, found);
    resources::of_pod(spec, found);
    network::host_ports(spec, pod_name.is_some(), found);
    let restarts = &["Always", "OnFailure", "Never"];
    spec.get("restartPolicy").choice(restarts, found);
    network::dns_policy(spec, found);
    let selector = spec.get("nodeSelector");
    labels_are_valid(selector.value.as_object(), &selector.path, found);
    security::of_pod(&spec.get("securityContext"), spec, found);
    placement::affinity(&spec.get("affinity"), found);
    network::dns_config(spec, found);
    for gate in spec.items("readinessGates") {
        gate.get("conditionType").name(names::qualified_name, found);
    }
    scheduling_gates(spec, found);
    placement::topology_spread(spec, found);
    security::host_users(spec, found);
    network::host_name_override(spec, found);
    short_fields(spec, found);
    security::system(spec, found);
    volumes::of_file_keys(spec, found);
}

fn scheduling_gates(spec: &Part, found: &mut Vec<FieldError>) {
    let mut known = BTreeSet::new();
    for gate in spec.items("schedulingGates") {
        let name = gate.get("name").named_as(&gate.path);
        name.name(names::qualified_name, found);
        if !known.insert(name.text()) {
            name.duplicate(found);
        }
    }
}

fn short_fields(spec: &Part, found: &mut Vec<FieldError>) {
    for field in ["serviceAccountName", "nodeName"] {
        spec.get(field).name_if_set(names::dns_subdomain, found);
    }
    let deadline = spec.get("activeDeadlineSeconds");
    deadline.within(1, i64::from(i32::MAX), found);
    for field in ["hostname", "subdomain"] {
        spec.get(field).name_if_set(names::dns_label, found);
    }
    placement::tolerations(spec, found);
    for alias in spec.items("hostAliases") {
        let ip = alias.get("ip");
        address(ip.text(), &ip.path, found);
        for host in alias.items("hostnames") {
            host.name(names::dns_subdomain, found);
        }
    }
    for field in ["priorityClassName", "runtimeClassName"] {
        if let Some(name) = spec.set(field)
            && (field == "runtimeClassName" || !name.text().is_empty())
        {
            name.name(names::dns_subdomain, found);
        }
    }
    if let Some(policy) = spec.set("preemptionPolicy") {
        policy.choice(&["PreemptLowerPriority", "Never"], found);
    }
    if let Some(overhead) = spec.set("overhead") {
        resources::overhead(&overhead, found);
    }
}
