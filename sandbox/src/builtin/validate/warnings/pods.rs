use std::collections::{BTreeMap, BTreeSet};

use super::super::part::Part;
use super::{fractional, others};

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";

const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        r#"non-functional in v1.16+; use the "priorityClassName" field instead"#,
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        r#"non-functional in v1.11+; use the "sysctls" field instead"#,
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        r#"non-functional in v1.11+; use the "sysctls" field instead"#,
    ),
];

/// The old types of volumes, in the order of a real server: the field, its name in the warning, and what is wrong.
const VOLUMES: [(&str, &str, &str); 9] = [
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    (
        "scaleIO",
        "scaleIO",
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    (
        "flocker",
        "flocker",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "storageos",
        "storageOS",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "quobyte",
        "quobyte",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "glusterfs",
        "glusterfs",
        "deprecated in v1.25, non-functional in v1.26+",
    ),
    (
        "cephfs",
        "cephfs",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
    (
        "rbd",
        "rbd",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
];

/// A Pod.
pub(super) fn of_pod(pod: &Part, found: &mut Vec<String>) {
    pods(pod, found);
    let spec = pod.get("spec");
    let annotations = pod.get("metadata").get("annotations");
    for container in containers(&spec) {
        let key = format!("{APP_ARMOR}{}", container.text_of("name"));
        app_armor(&key, &annotations, &container, found);
    }
}

/// A template of Pods.
pub(super) fn of_template(template: &Part, found: &mut Vec<String>) {
    pods(template, found);
}

fn app_armor(key: &str, annotations: &Part, container: &Part, found: &mut Vec<String>) {
    let context = container.get("securityContext");
    if annotations.value.get(key).is_some() && context.set("appArmorProfile").is_none() {
        found.push(format!(
            r#"{}[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead"#,
            annotations.path
        ));
    }
}

fn containers<'a>(spec: &Part<'a>) -> impl Iterator<Item = Part<'a>> + use<'a> {
    let spec = spec.clone();
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    lists.into_iter().flat_map(move |list| spec.items(list))
}

fn pods(owner: &Part, found: &mut Vec<String>) {
    let (spec, annotations) = (owner.get("spec"), owner.get("metadata").get("annotations"));
    placement(&spec, found);
    for (key, text) in ANNOTATIONS {
        if annotations.value.get(key).is_some() {
            found.push(format!("{}[{key}]: {text}", annotations.path));
        }
    }
    volumes(&spec, found);
    repeated(&spec, "hostAliases", "ip", found);
    repeated(&spec, "imagePullSecrets", "name", found);
    for secret in spec.items("imagePullSecrets") {
        if secret.text_of("name").is_empty() {
            found.push(format!(r#"{}.name: invalid empty name """#, secret.path));
        }
    }
    for name in ["memory", "ephemeral-storage"] {
        bytes(&spec.get("overhead"), name, found);
    }
    let is_confined = |owner: &Part| {
        let context = owner.get("securityContext");
        context.set("seccompProfile").is_some()
    };
    let seccomp = |key: &str, found: &mut Vec<String>| {
        if annotations.value.get(key).is_some() {
            let text = r#"non-functional in v1.27+; use the "seccompProfile" field instead"#;
            found.push(format!("{}[{key}]: {text}", annotations.path));
        }
    };
    if !is_confined(&spec) {
        seccomp(SECCOMP, found);
    }
    for container in containers(&spec) {
        if !is_confined(&container) {
            let name = container.text_of("name");
            seccomp(
                &format!("container.seccomp.security.alpha.kubernetes.io/{name}"),
                found,
            );
        }
        if !owner.path.is_empty() {
            let key = format!("{APP_ARMOR}{}", container.text_of("name"));
            app_armor(&key, &annotations, &container, found);
        }
        let resources = container.get("resources");
        for name in ["memory", "ephemeral-storage"] {
            for list in ["limits", "requests"] {
                bytes(&resources.get(list), name, found);
            }
        }
        hidden_variables(&container, found);
    }
    ports(&spec, found);
    affinity(&spec, found);
}

fn bytes(resources: &Part, name: &str, found: &mut Vec<String>) {
    if let Some(quantity) = resources.set(name) {
        fractional(
            &quantity.named_as(format!("{}[{name}]", resources.path)),
            found,
        );
    }
}

/// Entries of a list that have the same value.
fn repeated(spec: &Part, list: &str, field: &str, found: &mut Vec<String>) {
    let mut known = BTreeSet::new();
    for item in spec.items(list) {
        let value = item.get(field);
        if !known.insert(value.text()) {
            found.push(format!(
                "{}: duplicate {field} {:?}",
                value.path,
                value.text()
            ));
        }
    }
}

fn placement(spec: &Part, found: &mut Vec<String>) {
    let selector = spec.get("nodeSelector");
    for (key, value) in selector.entries() {
        if let Some(text) = others::old_label(key) {
            found.push(format!("{}: {text}", value.path));
        }
    }
    let nodes = spec.get("affinity").get("nodeAffinity");
    let required = nodes.get("requiredDuringSchedulingIgnoredDuringExecution");
    for term in required.items("nodeSelectorTerms") {
        others::of_node_term(&term, found);
    }
    for term in nodes.items("preferredDuringSchedulingIgnoredDuringExecution") {
        others::of_node_term(&term.get("preference"), found);
    }
    for constraint in spec.items("topologySpreadConstraints") {
        let key = constraint.get("topologyKey");
        if let Some(text) = others::old_label(key.text()) {
            found.push(format!("{}: {} is {text}", key.path, key.text()));
        }
        no_selector(&constraint, found);
    }
}

fn no_selector(owner: &Part, found: &mut Vec<String>) {
    let selector = owner.get("labelSelector");
    if !selector.is_set() {
        found.push(format!(
            "{}: a null labelSelector results in matching no pod",
            selector.path
        ));
    }
}

fn affinity(spec: &Part, found: &mut Vec<String>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = spec.get("affinity").get(kind);
        for term in pods.items("requiredDuringSchedulingIgnoredDuringExecution") {
            no_selector(&term, found);
        }
        for term in pods.items("preferredDuringSchedulingIgnoredDuringExecution") {
            no_selector(&term.get("podAffinityTerm"), found);
        }
    }
}

fn volumes(spec: &Part, found: &mut Vec<String>) {
    for volume in spec.items("volumes") {
        for (field, shown, text) in VOLUMES {
            if volume.set(field).is_some() {
                found.push(format!("{}.{shown}: {text}", volume.path));
            }
        }
        let template = volume.get("ephemeral").get("volumeClaimTemplate");
        others::of_claim(&template.get("spec"), found);
    }
    for volume in spec.items("volumes") {
        for source in volume.get("projected").items("sources") {
            let is_empty = source
                .value
                .as_object()
                .is_some_and(|fields| fields.is_empty());
            if is_empty {
                found.push(format!(
                    "volume {:?} (Projected) has no sources provided",
                    volume.text_of("name")
                ));
            }
        }
    }
}

/// A variable that hides an earlier one of its name, unless it refers to it.
fn hidden_variables(container: &Part, found: &mut Vec<String>) {
    let mut known = BTreeSet::new();
    for variable in container.items("env") {
        let (name, value) = (variable.text_of("name"), variable.text_of("value"));
        if known.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let extends = value.contains(&reference) && value != reference;
        if !extends || variable.set("valueFrom").is_some() {
            found.push(format!(
                "{}: hides previous definition of {name:?}, which may be dropped when using apply",
                variable.path
            ));
        }
    }
}

/// How many earlier ports a port is compared with: a hostile Pod may have many equal ones.
const MOST_OTHERS: usize = 16;

fn ports(spec: &Part, found: &mut Vec<String>) {
    let mut all: BTreeMap<(i64, &str), Vec<Part>> = BTreeMap::new();
    for container in containers(spec) {
        for port in container.items("ports") {
            let number = |port: &Part, field: &str| port.number_of(field).unwrap_or(0);
            let key = (number(&port, "containerPort"), port.text_of("protocol"));
            let others = all.entry(key).or_default();
            for other in others.iter() {
                let ips = [&port, other].map(|port| port.text_of("hostIP"));
                let hosts = [&port, other].map(|port| number(port, "hostPort"));
                let what = if ips[0] == ips[1] && hosts[0] == hosts[1] {
                    "duplicate port definition"
                } else if hosts.contains(&0) {
                    "overlapping port definition"
                } else if hosts[0] == hosts[1] && ips[0].is_empty() != ips[1].is_empty() {
                    "dangerously ambiguous port definition"
                } else {
                    continue;
                };
                found.push(format!("{}: {what} with {}", port.path, other.path));
            }
            if others.len() < MOST_OTHERS {
                others.push(port);
            }
        }
    }
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    for container in containers(spec) {
        for port in container.items("ports") {
            let name = port.text_of("name");
            if name.is_empty() {
                continue;
            }
            match names.get(name) {
                Some(other) => found.push(format!(
                    "{}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}",
                    port.path
                )),
                None => drop(names.insert(name, port.path)),
            }
        }
    }
}
