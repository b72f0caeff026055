use std::collections::BTreeSet;

use super::super::fields::protocol_of;
use super::super::network::port_name;
use super::super::part::Part;
use super::volumes::Volumes;
use super::{env, handlers, mounts, resources, security};
use crate::names;
use crate::schema::FieldError;

/// What the containers of a Pod refer to.
pub(super) struct Surroundings<'a> {
    volumes: Volumes<'a>,
    claims: BTreeSet<&'a str>,
    grace: Option<i64>,
    system: Option<&'a str>,
    restart: &'a str,
    /// Whether the containers have the users of the node.
    host_users: bool,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(spec: &Part<'a>, volumes: Volumes<'a>, claims: BTreeSet<&'a str>) -> Self {
        Self {
            volumes,
            claims,
            grace: spec.number_of("terminationGracePeriodSeconds"),
            system: spec.set("os").map(|system| system.text_of("name")),
            restart: spec.text_of("restartPolicy"),
            host_users: spec.get("hostUsers").value != false,
        }
    }
}

/// All containers of a specification.
pub(super) fn all<'a>(spec: &Part<'a>) -> impl Iterator<Item = Part<'a>> + use<'a> {
    let spec = spec.clone();
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    lists.into_iter().flat_map(move |list| spec.items(list))
}

/// The names of all containers.
pub(in super::super) fn names<'a>(spec: &Part<'a>) -> BTreeSet<&'a str> {
    all(spec)
        .map(|container| container.text_of("name"))
        .collect()
}

/// The containers that run together.
pub(super) fn regular(spec: &Part, around: &Surroundings, found: &mut Vec<FieldError>) {
    if spec.list("containers").is_empty() {
        spec.get("containers").missing("", found);
        return;
    }
    let mut known = BTreeSet::new();
    for container in spec.items("containers") {
        common(&container, around, found);
        if !known.insert(container.text_of("name")) {
            container.get("name").duplicate(found);
        }
        handlers::lifecycle(&container, around.grace, around.system, found);
        handlers::probes(&container, around.grace, found);
        restart_policy(&container, found);
    }
    let mut ports = BTreeSet::new();
    for container in spec.items("containers") {
        host_ports(&container, &container.path, &mut ports, found);
    }
}

/// The containers that run before the others, or beside them if they always restart.
pub(super) fn initial(spec: &Part, around: &Surroundings, found: &mut Vec<FieldError>) {
    let mut known: BTreeSet<&str> = spec
        .items("containers")
        .map(|container| container.text_of("name"))
        .collect();
    let list = spec.get("initContainers").path;
    for container in spec.items("initContainers") {
        common(&container, around, found);
        let policy = container.set("restartPolicy");
        restart_policy(&container, found);
        let name = container.text_of("name");
        if !known.insert(name) && !name.is_empty() {
            container.get("name").duplicate(found);
        }
        // A real server numbers the container by itself.
        let alone = format!("{list}[0]");
        host_ports(&container, &alone, &mut BTreeSet::new(), found);
        let stays = policy.is_some_and(|policy| policy.text() == "Always");
        if stays {
            handlers::lifecycle(&container, around.grace, around.system, found);
            handlers::probes(&container, around.grace, found);
            continue;
        }
        for field in [
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ] {
            if let Some(field) = container.set(field) {
                let detail = "may not be set for init containers without restartPolicy=Always";
                field.forbidden(detail, found);
            }
        }
        for policy in container.items("resizePolicy") {
            let restart = policy.get("restartPolicy");
            if restart.text() == "RestartContainer" {
                let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                restart.invalid(detail, found);
            }
        }
    }
}

/// The fields that an ephemeral container must not have, in the order of a real server.
const NOT_EPHEMERAL: [&str; 7] = [
    "ports",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "resizePolicy",
];

/// The containers that were added to debug a Pod.
pub(super) fn ephemeral(spec: &Part, around: &Surroundings, found: &mut Vec<FieldError>) {
    let lists = ["containers", "initContainers"];
    let others: BTreeSet<&str> = lists
        .iter()
        .flat_map(|list| spec.items(list))
        .map(|container| container.text_of("name"))
        .collect();
    let mut known = others.clone();
    for container in spec.items("ephemeralContainers") {
        common(&container, around, found);
        image_of_pod(&container, found);
        if !known.insert(container.text_of("name")) {
            container.get("name").duplicate(found);
        }
        let target = container.get("targetContainerName");
        if !target.text().is_empty() && !others.contains(target.text()) {
            target.not_found("", found);
        }
        const DETAIL: &str = "cannot be set for an Ephemeral Container";
        for field in NOT_EPHEMERAL {
            if let Some(field) = container.set(field) {
                field.forbidden(DETAIL, found);
            }
        }
        for field in ["restartPolicy", "resources"] {
            let is_empty = |part: &Part| part.value.as_object().is_some_and(|it| it.is_empty());
            if let Some(field) = container.set(field).filter(|field| !is_empty(field)) {
                field.forbidden(DETAIL, found);
            }
        }
        for mount in container.items("volumeMounts") {
            for field in ["subPath", "subPathExpr"] {
                if !mount.text_of(field).is_empty() {
                    mount.get(field).forbidden(DETAIL, found);
                }
            }
        }
    }
}

/// In a Pod, unlike in a template, an image is not filled in later.
pub(super) fn image_of_pod(container: &Part, found: &mut Vec<FieldError>) {
    let image = container.get("image");
    if image.text().trim() != image.text() {
        image.invalid("must not have leading or trailing whitespace", found);
    }
}

/// What all containers have.
fn common(container: &Part, around: &Surroundings, found: &mut Vec<FieldError>) {
    container.get("name").required_name(names::dns_label, found);
    container.get("image").required(found);
    let policies = &["File", "FallbackToLogsOnError"];
    container
        .get("terminationMessagePolicy")
        .choice(policies, found);
    ports(container, found);
    env::variables(container, found);
    env::sources(container, found);
    mounts::mounts(container, &around.volumes, found);
    mounts::devices(container, &around.volumes, found);
    pull_policy(&container.get("imagePullPolicy"), found);
    resources::of_container(&container.get("resources"), &around.claims, found);
    resources::resize_policies(container, around.restart, found);
    let context = container.get("securityContext");
    security::of_container(&context, around.host_users, found);
}

pub(super) fn pull_policy(policy: &Part, found: &mut Vec<FieldError>) {
    policy.choice(&["Always", "IfNotPresent", "Never"], found);
}

fn ports(container: &Part, found: &mut Vec<FieldError>) {
    let mut known = BTreeSet::new();
    for port in container.items("ports") {
        let name = port.get("name");
        if !name.text().is_empty() {
            let before = found.len();
            name.name(port_name, found);
            if found.len() == before && !known.insert(name.text()) {
                name.duplicate(found);
            }
        }
        let number = port.get("containerPort");
        match number.number() {
            None | Some(0) => number.missing("", found),
            Some(_) => number.within(1, 65535, found),
        }
        let host = port.get("hostPort");
        if host.number() != Some(0) {
            host.within(1, 65535, found);
        }
        protocol_of(&port.get("protocol"), found);
    }
}

/// No two containers may listen at the same port of the node.
fn host_ports<'a>(
    container: &Part<'a>,
    path: &str,
    known: &mut BTreeSet<(&'a str, &'a str, i64)>,
    found: &mut Vec<FieldError>,
) {
    for (index, port) in container.items("ports").enumerate() {
        let number = port.number_of("hostPort").unwrap_or(0);
        let (protocol, ip) = (port.text_of("protocol"), port.text_of("hostIP"));
        if number != 0 && !known.insert((protocol, ip, number)) {
            let value = format!("{protocol}/{ip}/{number}");
            let field = format!("{path}.ports[{index}].hostPort");
            found.push(FieldError::duplicate(field, value.into()));
        }
    }
}

/// When a container restarts on its own.
fn restart_policy(container: &Part, found: &mut Vec<FieldError>) {
    const MOST_RULES: usize = 20;
    const MOST_CODES: usize = 255;
    let rules = container.list("restartPolicyRules");
    let policy = container.get("restartPolicy");
    match policy.is_set() {
        false if rules.is_empty() => return,
        false => policy.missing(
            "must specify restartPolicy when restart rules are used",
            found,
        ),
        true => policy.one_of(&["Always", "Never", "OnFailure"], found),
    }
    if rules.len() > MOST_RULES {
        let field = container.get("restartPolicyRules").path;
        found.push(FieldError::too_many(field, rules.len(), 20));
    }
    for rule in container.items("restartPolicyRules") {
        rule.get("action")
            .one_of(&["Restart", "RestartAllContainers"], found);
        let codes = rule.get("exitCodes");
        if !codes.is_set() {
            codes.missing("must be specified", found);
            continue;
        }
        codes.get("operator").one_of(&["In", "NotIn"], found);
        let values = codes.list("values").len();
        if values > MOST_CODES {
            found.push(FieldError::too_many(codes.get("values").path, values, 255));
        }
    }
}
