use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::resources::{self, Part, ResourceList};
use crate::api::Target;
use crate::builtin;
use crate::core::Core;
use crate::go::Quantity;
use crate::meta;
use crate::registry::GroupResource;

/// The annotation that tells which values a Pod got from a range.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";
const CLAIM: &str = "PersistentVolumeClaim";

/// Gives the containers of a new Pod the requests and limits that they lack.
pub(super) fn set_defaults(core: &Core, target: &Target, pod: &mut Value) {
    let ranges = ranges(core, target);
    for range in &ranges {
        let of = |field: &str| {
            let mut all = ResourceList::new();
            for limit in limits(range, "Container") {
                all.extend(resources::read(&limit[field]));
            }
            all
        };
        let (requests, limits) = (of("defaultRequest"), of("default"));
        let mut set = Vec::new();
        for (list, shown) in [
            ("containers", "container"),
            ("initContainers", "init container"),
        ] {
            // Not by an index, which would add the list.
            let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                let name = container["name"].as_str().unwrap_or_default().to_owned();
                for (field, word, defaults) in [
                    ("requests", "request", &requests),
                    ("limits", "limit", &limits),
                ] {
                    let added = add_missing(container, field, defaults);
                    if !added.is_empty() {
                        set.push(format!("{} {word} for {shown} {name}", added.join(", ")));
                    }
                }
            }
        }
        if !set.is_empty() {
            let text = format!("LimitRanger plugin set: {}", set.join("; "));
            if !pod["metadata"]["annotations"].is_object() {
                meta::set(pod, "annotations", json!({}));
            }
            pod["metadata"]["annotations"][ANNOTATION] = json!(text);
        }
    }
    if !ranges.is_empty() && pod["status"].is_object() {
        pod["status"]["qosClass"] = json!(builtin::qos_class(&pod["spec"]));
    }
}

/// Returns the names of what was missing.
fn add_missing(container: &mut Value, field: &str, defaults: &ResourceList) -> Vec<String> {
    let missing = |name: &&String| container["resources"][field].get(name).is_none();
    let added: Vec<String> = defaults.keys().filter(missing).cloned().collect();
    for name in &added {
        container["resources"][field][name] = json!(defaults[name].to_string());
    }
    added
}

/// Checks that a Pod or a claim is within each range.
///
/// # Errors
/// What is outside.
pub(super) fn check(core: &Core, target: &Target, object: &Value) -> Result<(), String> {
    for range in ranges(core, target) {
        let mut errors = BTreeSet::new();
        if target.kind.kind == CLAIM {
            check_claim(&range, object, &mut errors);
        } else {
            check_pod(&range, object, &mut errors);
        }
        let errors: Vec<String> = errors.into_iter().collect();
        match errors.as_slice() {
            [] => {}
            [one] => return Err(one.clone()),
            many => return Err(format!("[{}]", many.join(", "))),
        }
    }
    Ok(())
}

fn check_pod(range: &Value, pod: &Value, errors: &mut BTreeSet<String>) {
    let containers = ["/spec/containers", "/spec/initContainers"];
    let containers = containers
        .iter()
        .flat_map(|list| resources::list(pod, list));
    for container in containers {
        let (requests, limits) = (Part::Requests.of(container), Part::Limits.of(container));
        for limit in self::limits(range, "Container") {
            check_all(limit, "Container", &requests, &limits, errors);
        }
    }
    for limit in limits(range, "Pod") {
        let part = |part| resources::asked(pod, part);
        let (requests, limits) = (part(Part::Requests), part(Part::Limits));
        check_all(limit, "Pod", &requests, &limits, errors);
    }
}

fn check_all(
    limit: &Value,
    of: &str,
    requests: &ResourceList,
    limits: &ResourceList,
    errors: &mut BTreeSet<String>,
) {
    for (name, bound) in resources::read(&limit["min"]) {
        let parts = [
            ("request", requests.get(&name)),
            ("limit", limits.get(&name)),
        ];
        errors.extend(below(of, &name, bound, &parts));
    }
    for (name, bound) in resources::read(&limit["max"]) {
        let parts = [
            ("limit", limits.get(&name)),
            ("request", requests.get(&name)),
        ];
        errors.extend(above(of, &name, bound, &parts));
    }
    for (name, bound) in resources::read(&limit["maxLimitRequestRatio"]) {
        let (request, limit) = (requests.get(&name), limits.get(&name));
        errors.extend(ratio(of, &name, bound, request, limit));
    }
}

fn check_claim(range: &Value, claim: &Value, errors: &mut BTreeSet<String>) {
    let requests = Part::Requests.of(&claim["spec"]);
    for limit in limits(range, CLAIM) {
        for (name, bound) in resources::read(&limit["min"]) {
            let parts = [("request", requests.get(&name))];
            errors.extend(below(CLAIM, &name, bound, &parts));
        }
        for (name, bound) in resources::read(&limit["max"]) {
            let parts = [("request", requests.get(&name))];
            errors.extend(above(CLAIM, &name, bound, &parts));
        }
    }
}

/// What is asked for, by the words of an error.
type Parts<'a> = [(&'a str, Option<&'a Quantity>)];

fn below(of: &str, name: &str, bound: Quantity, parts: &Parts<'_>) -> Option<String> {
    let text = format!("minimum {name} usage per {of} is {bound}");
    outside(&text, parts, |quantity| quantity.milli() < bound.milli())
}

fn above(of: &str, name: &str, bound: Quantity, parts: &Parts<'_>) -> Option<String> {
    let text = format!("maximum {name} usage per {of} is {bound}");
    outside(&text, parts, |quantity| quantity.milli() > bound.milli())
}

/// The error of the first part that breaks a bound. The first of all has to be there.
fn outside(text: &str, parts: &Parts<'_>, breaks: impl Fn(&Quantity) -> bool) -> Option<String> {
    if let Some((word, None)) = parts.first() {
        return Some(format!("{text}.  No {word} is specified"));
    }
    let mut given = parts
        .iter()
        .filter_map(|(word, part)| Some((word, (*part)?)));
    let (word, quantity) = given.find(|(_, quantity)| breaks(quantity))?;
    Some(format!("{text}, but {word} is {quantity}"))
}

fn ratio(
    of: &str,
    name: &str,
    bound: Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let text = format!("{name} max limit to request ratio per {of} is {bound}");
    let of = |quantity: Option<&Quantity>| {
        let milli = quantity.map(|quantity| quantity.milli());
        milli.filter(|milli| *milli != 0)
    };
    let Some(request) = of(request) else {
        return Some(format!(
            "{text}, but no request is specified or request is 0"
        ));
    };
    let Some(limit) = of(limit) else {
        return Some(format!("{text}, but no limit is specified or limit is 0"));
    };
    let found = limit as f64 / request as f64;
    (found * 1000.0 > bound.milli() as f64)
        .then(|| format!("{text}, but provided ratio is {found:.6}"))
}

/// The LimitRanges of a namespace.
fn ranges(core: &Core, target: &Target) -> Vec<Arc<Value>> {
    let resource = GroupResource::new("", "limitranges");
    let namespace = target.namespace.as_deref();
    match core.store.list(&resource, namespace, None, None) {
        Some(Ok(listed)) => listed.entries.into_iter().map(|one| one.object).collect(),
        _ => Vec::new(),
    }
}

/// The limits of a range for a kind of thing.
fn limits<'a>(range: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    resources::list(range, "/spec/limits").filter(move |limit| limit["type"] == kind)
}
