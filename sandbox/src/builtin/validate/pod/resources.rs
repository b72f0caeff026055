use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::super::limits::{is_integer_resource, resource_name};
use super::super::part::Part;
use super::env::joined;
use crate::go::{Quantity, compare_quantities};
use crate::names;
use crate::schema::FieldError;

const QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// The requests and limits of a container. `claims` are the names of the Pod's claims of devices.
pub(super) fn of_container(resources: &Part, claims: &BTreeSet<&str>, found: &mut Vec<FieldError>) {
    requirements(resources, container_resource_name, claims, found);
}

/// The requests and limits of a Pod as a whole.
pub(super) fn of_pod(spec: &Part, found: &mut Vec<FieldError>) {
    let Some(resources) = spec.set("resources") else {
        return;
    };
    if spec.get("os").text_of("name") == "windows" {
        return resources.forbidden("may not be set for a windows pod", found);
    }
    if let Some(claims) = resources.set("claims") {
        let detail = "claims may not be set for Resources at pod-level";
        claims.forbidden(detail, found);
    }
    requirements(&resources, pod_resource_name, &BTreeSet::new(), found);
    consistent(spec, &resources, found);
}

/// The resources that a Pod needs besides its containers.
pub(super) fn overhead(overhead: &Part, found: &mut Vec<FieldError>) {
    let wrapped = serde_json::json!({"limits": overhead.value});
    let limits = Part::new(&wrapped, &overhead.path);
    requirements(&limits, container_resource_name, &BTreeSet::new(), found);
}

fn requirements(
    resources: &Part,
    named: fn(&str, &Part, &mut Vec<FieldError>),
    claims: &BTreeSet<&str>,
    found: &mut Vec<FieldError>,
) {
    let (limits, requests) = (resources.get("limits"), resources.get("requests"));
    for (name, quantity) in limits.entries() {
        named(name, &quantity, found);
        value(name, &quantity, found);
        huge_pages(name, &quantity, found);
    }
    for (name, quantity) in requests.entries() {
        named(name, &quantity, found);
        value(name, &quantity, found);
        match limits.value.get(name).and_then(serde_json::Value::as_str) {
            Some(limit) => within_limit(name, &quantity, limit, &requests, found),
            None if !is_overcommitted(name) => {
                limits.missing("Limit must be set for non overcommitable resources", found);
            }
            None => {}
        }
        huge_pages(name, &quantity, found);
    }
    let has = |wanted: fn(&str) -> bool| {
        let mut names = [&limits, &requests].into_iter().flat_map(Part::entries);
        names.any(|(name, _)| wanted(name))
    };
    if has(|name| name.starts_with("hugepages-")) && !has(|name| matches!(name, "cpu" | "memory")) {
        resources.forbidden("HugePages require cpu or memory", found);
    }
    claimed(resources, claims, found);
}

/// A quantity of a resource.
fn value(name: &str, quantity: &Part, found: &mut Vec<FieldError>) {
    let Some(number) = Quantity::parse(quantity.text()) else {
        return quantity.invalid(QUANTITY, found);
    };
    if number.is_negative() {
        quantity.invalid("must be greater than or equal to 0", found);
    }
    if is_integer_resource(name) && number.milli() % 1000 != 0 {
        quantity.invalid("must be an integer", found);
    }
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether containers may request more in total than there is.
fn is_overcommitted(name: &str) -> bool {
    is_native(name) && !name.starts_with("hugepages-")
}

fn within_limit(
    name: &str,
    request: &Part,
    limit: &str,
    requests: &Part,
    found: &mut Vec<FieldError>,
) {
    let Some(order) = compare_quantities(request.text(), limit) else {
        return;
    };
    let wanted = match (is_overcommitted(name), order) {
        (true, Ordering::Greater) => "less than or equal to",
        (false, Ordering::Less | Ordering::Greater) => "equal to",
        _ => return,
    };
    let detail = format!("must be {wanted} {name} limit of {limit}");
    requests.invalid_as(request.text(), detail, found);
}

fn huge_pages(name: &str, quantity: &Part, found: &mut Vec<FieldError>) {
    let Some(size) = name.strip_prefix("hugepages-") else {
        return;
    };
    let (Some(size), Some(number)) = (Quantity::parse(size), Quantity::parse(quantity.text()))
    else {
        return;
    };
    let (size, number) = (size.milli(), number.milli());
    if size <= 0 || number <= 0 || number % size != 0 {
        let detail = format!(
            "{} is not positive integer multiple of {name}",
            quantity.text()
        );
        quantity.invalid(detail, found);
    }
}

/// The name of a resource of a container.
pub(in super::super) fn container_resource_name(
    name: &str,
    quantity: &Part,
    found: &mut Vec<FieldError>,
) {
    resource_name(name, &quantity.path, found);
    let known = ["cpu", "memory", "ephemeral-storage"];
    let detail = match name.contains('/') {
        false if known.contains(&name) || name.starts_with("hugepages-") => return,
        false => "must be a standard resource for containers",
        true if is_native(name) || is_extended(name) => return,
        true => "doesn't follow extended resource name standard",
    };
    quantity.invalid_as(name, detail, found);
}

/// Whether the resource is one that a device brings.
fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

fn pod_resource_name(name: &str, quantity: &Part, found: &mut Vec<FieldError>) {
    let before = found.len();
    resource_name(name, &quantity.path, found);
    let known = matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
    if found.len() == before && !known {
        let known = ["cpu", "hugepages-", "memory"];
        found.push(FieldError::not_supported(&quantity.path, name, known));
    }
}

/// A container uses only claims of its Pod, and each once.
fn claimed(resources: &Part, claims: &BTreeSet<&str>, found: &mut Vec<FieldError>) {
    let mut whole = BTreeSet::new();
    let mut requests: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for claim in resources.items("claims") {
        let name = claim.text_of("name");
        if name.is_empty() {
            claim.missing("", found);
            continue;
        }
        let request = claim.get("request");
        if whole.contains(name) {
            claim.invalid_duplicate(name, found);
        } else if request.text().is_empty() {
            for _ in requests.get(name).into_iter().flatten() {
                claim.invalid_duplicate(name, found);
            }
            whole.insert(name);
        } else {
            request.name(names::dns_label, found);
            if !requests.entry(name).or_default().insert(request.text()) {
                claim.invalid_duplicate(&format!("{name}/{}", request.text()), found);
            }
        }
        if !claims.contains(name) {
            let known = match claims.is_empty() {
                true => " which is empty".to_owned(),
                false => format!(": {}", joined(claims)),
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{known}");
            let name = claim.get("name").named_as(&claim.path);
            name.not_found(detail, found);
        }
    }
}

impl Part<'_> {
    fn invalid_duplicate(&self, value: &str, found: &mut Vec<FieldError>) {
        found.push(FieldError::duplicate(&self.path, value.into()));
    }
}

/// What happens to a container whose resources change.
pub(super) fn resize_policies(container: &Part, restart: &str, found: &mut Vec<FieldError>) {
    let list = container.get("resizePolicy");
    let mut known = BTreeSet::new();
    for policy in container.items("resizePolicy") {
        let (name, on_resize) = (policy.get("resourceName"), policy.get("restartPolicy"));
        if !known.insert(name.text()) {
            name.named_as(&policy.path).duplicate(found);
        }
        // A real server reports both at the list.
        name.named_as(&list.path).choice(&["cpu", "memory"], found);
        let on_resize = on_resize.named_as(&list.path);
        on_resize.choice(&["NotRequired", "RestartContainer"], found);
        if restart == "Never" && on_resize.text() != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            on_resize.invalid(detail, found);
        }
    }
}

/// The sum of the containers fits into what the Pod has.
fn consistent(spec: &Part, resources: &Part, found: &mut Vec<FieldError>) {
    let sums_of = |list: &str| {
        let mut sums: BTreeMap<&str, Quantity> = BTreeMap::new();
        for container in spec.items("containers") {
            for (name, quantity) in container.get("resources").get(list).entries() {
                if let Some(number) = Quantity::parse(quantity.text()) {
                    let sum = sums.entry(name).or_insert(Quantity::ZERO);
                    *sum = sum.plus(number);
                }
            }
        }
        sums
    };
    let sums = [
        (
            "requests",
            "must be greater than or equal to aggregate container requests of",
        ),
        (
            "limits",
            "must be greater than or equal to aggregate container limits of",
        ),
    ];
    for (list, detail) in sums {
        let sums = sums_of(list);
        for (name, quantity) in resources.get(list).entries() {
            if list == "limits" && !name.starts_with("hugepages-") {
                continue;
            }
            if let (Some(sum), Some(own)) = (sums.get(name), Quantity::parse(quantity.text()))
                && *sum > own
            {
                quantity.invalid(format!("{detail} {sum}"), found);
            }
        }
    }
    for (index, container) in spec.items("containers").enumerate() {
        for (name, limit) in container.get("resources").get("limits").entries() {
            let most = resources.get("limits");
            let most = most.text_of(name);
            if compare_quantities(limit.text(), most) == Some(Ordering::Greater) {
                let path = &resources.path;
                let limit = limit.named_as(format!("{path}.containers[{index}][{name}].limits"));
                let detail = format!("must be less than or equal to pod limits of {most}");
                limit.invalid(detail, found);
            }
        }
    }
}
