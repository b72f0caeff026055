use jiff::Timestamp;
use serde_json::Value;

use super::scope::{self, Scope};
use crate::api::admission::class_of;
use crate::api::admission::resources::{self, Part, ResourceList};
use crate::core::Core;
use crate::go::Quantity;
use crate::meta;
use crate::registry::ServedKind;

/// What the objects of one kind use.
pub(super) enum Evaluator {
    Pod,
    Service,
    Claim,
    /// Each object counts as one under these names.
    Other(Vec<String>),
}

/// The kinds that have another name for their number.
const ALIASES: [&str; 4] = [
    "configmaps",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
];

/// What a Pod uses besides its number.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// If a quota limits one of these, each container must state it.
const REQUIRED: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";
const PER_CLAIM: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
const DEVICES: &str = "deviceclass.resource.kubernetes.io/";

impl Evaluator {
    /// Returns `None` if no quota counts the kind.
    pub(super) fn of(kind: &ServedKind) -> Option<Self> {
        let built_in = !kind.is_custom();
        Some(match (kind.group.as_str(), kind.plural.as_str()) {
            ("" | "events.k8s.io", "events") if built_in => return None,
            ("", "pods") => Self::Pod,
            ("", "services") => Self::Service,
            ("", "persistentvolumeclaims") => Self::Claim,
            (group, plural) => {
                let mut names = vec![format!("count/{}", kind.group_resource())];
                if group.is_empty() && ALIASES.contains(&plural) {
                    names.push(plural.to_owned());
                }
                Self::Other(names)
            }
        })
    }

    /// Whether a write can change what is used.
    pub(super) fn counts(&self, subresource: &str, old: Option<&Value>, new: &Value) -> bool {
        match (self, subresource, old) {
            (_, "", None) => true,
            (Self::Service | Self::Claim, "", Some(_)) => true,
            (Self::Pod, "", Some(old)) => scope::has_deadline(old) != scope::has_deadline(new),
            (Self::Pod, "resize", Some(_)) => true,
            _ => false,
        }
    }

    /// Whether a name in a quota counts objects of this kind.
    pub(super) fn covers(&self, name: &str) -> bool {
        match self {
            Self::Pod => {
                let of_compute = |name: &str| COMPUTE.contains(&name);
                let rest = name.strip_prefix("requests.");
                let is_foreign =
                    |name: &str| name.contains('/') && !name.contains("kubernetes.io/");
                let pages = "hugepages-";
                ["pods", "count/pods"].contains(&name)
                    || of_compute(name)
                    || name.starts_with(pages)
                    || name.strip_prefix("limits.").is_some_and(of_compute)
                    || rest.is_some_and(|rest| {
                        of_compute(rest)
                            || rest.starts_with(pages)
                            || rest.starts_with(DEVICES)
                            || is_foreign(name)
                    })
            }
            Self::Service => [
                "count/services",
                "services",
                "services.loadbalancers",
                "services.nodeports",
            ]
            .contains(&name),
            Self::Claim => {
                let of_class = name.split_once(OF_CLASS).map(|(_, rest)| rest);
                name == "count/persistentvolumeclaims"
                    || PER_CLAIM.contains(&of_class.unwrap_or(name))
            }
            Self::Other(names) => names.iter().any(|known| known == name),
        }
    }

    /// Whether an object is in a scope.
    pub(super) fn is_in(&self, scope: &Scope<'_>, object: &Value) -> bool {
        match self {
            Self::Pod => scope.has_pod(object),
            Self::Claim => scope.has_claim(object),
            Self::Service | Self::Other(_) => false,
        }
    }

    /// # Errors
    /// Which of the counted resources the containers of a Pod do not state.
    pub(super) fn requires(&self, counted: &[&str], object: &Value) -> Result<(), String> {
        if !matches!(self, Self::Pod) || resources::has_own(object) {
            return Ok(());
        }
        let mut missing = Vec::new();
        for name in counted.iter().filter(|name| REQUIRED.contains(name)) {
            let lists = ["/spec/containers", "/spec/initContainers"];
            let containers = lists.iter().flat_map(|list| resources::list(object, list));
            let mut without: Vec<&str> = containers
                .filter(|container| {
                    let part = |part: Part| part.of(container);
                    !compute(&part(Part::Requests), &part(Part::Limits)).contains_key(*name)
                })
                .filter_map(|container| container["name"].as_str())
                .collect();
            without.sort_unstable();
            if !without.is_empty() {
                missing.push(format!("{name} for: {}", without.join(",")));
            }
        }
        match missing.is_empty() {
            true => Ok(()),
            false => Err(format!("must specify {}", missing.join("; "))),
        }
    }

    /// What an object uses, by the names of a quota.
    pub(super) fn usage(&self, core: &Core, object: &Value) -> ResourceList {
        const ONE: Quantity = Quantity::whole(1);
        let mut usage = ResourceList::new();
        match self {
            Self::Pod => {
                if is_live(object, core.clock.now()) {
                    let part = |part| resources::occupied(object, part);
                    usage = compute(&part(Part::Requests), &part(Part::Limits));
                    usage.insert("pods".into(), ONE);
                }
                usage.insert("count/pods".into(), ONE);
            }
            Self::Service => {
                let ports = resources::list(object, "/spec/ports");
                let spec = &object["spec"];
                let balanced = spec["type"] == "LoadBalancer";
                let explicit = balanced && spec["allocateLoadBalancerNodePorts"] == false;
                let ports = match explicit {
                    true => ports
                        .filter(|port| port["nodePort"].as_i64().unwrap_or(0) != 0)
                        .count(),
                    false if balanced || spec["type"] == "NodePort" => ports.count(),
                    false => 0,
                };
                let ports = Quantity::whole(u32::try_from(ports).unwrap_or(u32::MAX));
                let balancers = Quantity::whole(balanced.into());
                for (name, quantity) in [
                    ("count/services", ONE),
                    ("services", ONE),
                    ("services.nodeports", ports),
                    ("services.loadbalancers", balancers),
                ] {
                    usage.insert(name.into(), quantity);
                }
            }
            Self::Claim => {
                usage.insert("count/persistentvolumeclaims".into(), ONE);
                let requested = Part::Requests.of(&object["spec"]);
                let allocated = resources::read(&object["status"]["allocatedResources"]);
                let storage = requested.get("storage").map(|requested| {
                    let allocated = allocated.get("storage");
                    let most = allocated.map_or(*requested, |one| (*one).max(*requested));
                    most.rounded_up()
                });
                let class = class_of(object);
                for (name, quantity) in PER_CLAIM.into_iter().zip([Some(ONE), storage]) {
                    let Some(quantity) = quantity else {
                        continue;
                    };
                    usage.insert(name.into(), quantity);
                    if !class.is_empty() {
                        usage.insert(format!("{class}{OF_CLASS}{name}"), quantity);
                    }
                }
            }
            Self::Other(names) => {
                usage.extend(names.iter().map(|name| (name.clone(), ONE)));
            }
        }
        usage
    }
}

/// Requests and limits by the names of a quota.
fn compute(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::new();
    for name in COMPUTE {
        if let Some(request) = requests.get(name) {
            usage.insert(name.into(), *request);
            usage.insert(format!("requests.{name}"), *request);
        }
        if let Some(limit) = limits.get(name) {
            usage.insert(format!("limits.{name}"), *limit);
        }
    }
    for (name, request) in requests {
        let is_pages = name.starts_with("hugepages-");
        let is_foreign = name.contains('/') && !name.contains("kubernetes.io/");
        if is_pages {
            usage.insert(name.clone(), *request);
        }
        if is_pages || is_foreign || name.starts_with(DEVICES) {
            usage.insert(format!("requests.{name}"), *request);
        }
    }
    usage
}

/// Whether a Pod has not ended, and is not past its grace period.
fn is_live(pod: &Value, now: Timestamp) -> bool {
    if matches!(
        pod["status"]["phase"].as_str(),
        Some("Failed" | "Succeeded")
    ) {
        return false;
    }
    let deleted: Option<Timestamp> = meta::text(pod, "deletionTimestamp").parse().ok();
    let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64();
    deleted
        .zip(grace)
        .is_none_or(|(deleted, grace)| now.as_second() <= deleted.as_second().saturating_add(grace))
}
