use super::super::part::Part;
use super::fractional;
use crate::registry::ServedKind;

/// The labels of nodes that have new names.
const LABELS: [(&str, &str); 8] = [
    (
        "beta.kubernetes.io/arch",
        r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#,
    ),
    (
        "beta.kubernetes.io/os",
        r#"deprecated since v1.14; use "kubernetes.io/os" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#,
    ),
    (
        "beta.kubernetes.io/instance-type",
        r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#,
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (
        "node-role.kubernetes.io/master",
        r#"use "node-role.kubernetes.io/control-plane" instead"#,
    ),
];

/// What to use in place of an old label.
pub(super) fn old_label(key: &str) -> Option<&'static str> {
    let mut known = LABELS.iter();
    known.find(|(old, _)| *old == key).map(|(_, text)| *text)
}

/// A term of a selector of nodes.
pub(super) fn of_node_term(term: &Part, found: &mut Vec<String>) {
    for expression in term.items("matchExpressions") {
        let key = expression.get("key");
        if let Some(text) = old_label(key.text()) {
            found.push(format!("{}: {} is {text}", key.path, key.text()));
        }
    }
}

/// The specification of a claim.
pub(super) fn of_claim(spec: &Part, found: &mut Vec<String>) {
    for list in ["requests", "limits"] {
        let list = spec.get("resources").get(list);
        if let Some(size) = list.set("storage") {
            fractional(&size.named_as(format!("{}[storage]", list.path)), found);
        }
    }
}

/// An object of another kind.
pub(super) fn of_kind(kind: &ServedKind, object: &Part, is_new: bool, found: &mut Vec<String>) {
    const CLASS: &str = "kubernetes.io/ingress.class";
    let spec = object.get("spec");
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "PersistentVolumeClaim") => of_claim(&spec, found),
        ("", "PersistentVolume") => of_volume(&spec, found),
        ("", "Service") => of_service(&spec, found),
        ("", "Node") if !spec.text_of("externalID").is_empty() => {
            let text = "spec.externalID: this field is deprecated, and is unused by Kubernetes";
            found.push(text.to_owned());
        }
        ("discovery.k8s.io", "EndpointSlice")
            if is_new && object.text_of("addressType") == "FQDN" =>
        {
            found.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        ("networking.k8s.io", "Ingress") if is_new => {
            let annotations = object.get("metadata").get("annotations");
            let annotated = annotations.value.get(CLASS).is_some();
            if annotated && spec.set("ingressClassName").is_none() {
                found.push(format!(
                    "annotation {CLASS:?} is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        ("storage.k8s.io", "CSIDriver") if is_new => {
            let asks = !spec.list("tokenRequests").is_empty();
            if asks && spec.set("serviceAccountTokenInSecrets").is_none() {
                found.push(
                    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
                     logging of tokens in volume attributes"
                        .to_owned(),
                );
            }
        }
        _ => {}
    }
}

fn of_volume(spec: &Part, found: &mut Vec<String>) {
    if spec.text_of("persistentVolumeReclaimPolicy") == "Recycle" {
        found.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach \
             is to use dynamic provisioning."
                .to_owned(),
        );
    }
    let required = spec.get("nodeAffinity").get("required");
    for term in required.items("nodeSelectorTerms") {
        of_node_term(&term, found);
    }
    for (field, shown, since, until) in [
        ("cephfs", "cephfs", "1.28", "1.31"),
        (
            "photonPersistentDisk",
            "photonPersistentDisk",
            "1.11",
            "1.16",
        ),
        ("scaleIO", "scaleIO", "1.16", "1.22"),
        ("storageos", "storageOS", "1.22", "1.25"),
        ("glusterfs", "glusterfs", "1.25", "1.26"),
        ("rbd", "rbd", "1.28", "1.31"),
    ] {
        if spec.set(field).is_some() {
            found.push(format!(
                "spec.{shown}: deprecated in v{since}, non-functional in v{until}+"
            ));
        }
    }
}

fn of_service(spec: &Part, found: &mut Vec<String>) {
    let kind = spec.text_of("type");
    let headless = kind == "ClusterIP" && spec.text_of("clusterIP") == "None";
    let external = !spec.list("externalIPs").is_empty();
    let mut say = |text: &str| found.push(text.to_owned());
    if headless {
        if !spec.text_of("loadBalancerIP").is_empty() {
            say("spec.loadBalancerIP is ignored for headless services");
        }
        if external {
            say("spec.externalIPs is ignored for headless services");
        }
        if spec.text_of("sessionAffinity") != "None" {
            say("spec.SessionAffinity is ignored for headless services");
        }
    } else if external && kind != "ExternalName" {
        say("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
    }
    if external && kind == "ExternalName" {
        say(r#"spec.externalIPs is ignored when spec.type is "ExternalName""#);
    }
    if kind != "ExternalName" && !spec.text_of("externalName").is_empty() {
        say(r#"spec.externalName is ignored when spec.type is not "ExternalName""#);
    }
    if spec.text_of("trafficDistribution") == "PreferClose" {
        say(r#"spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone""#);
    }
}
