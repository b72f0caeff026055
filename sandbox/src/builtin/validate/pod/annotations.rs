use super::super::part::Part;
use super::containers;
use crate::names;
use crate::schema::FieldError;

const MIRROR: &str = "kubernetes.io/config.mirror";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The annotations of a Pod.
pub(super) fn of_pod(metadata: &Part, spec: &Part, found: &mut Vec<FieldError>) {
    of_template(&metadata.get("annotations"), spec, found);
}

/// The annotations of a Pod or of a template, with the path of its annotations.
pub(super) fn of_template(annotations: &Part, spec: &Part, found: &mut Vec<FieldError>) {
    for (key, value) in annotations.entries() {
        if key == MIRROR && spec.text_of("nodeName").is_empty() {
            let detail = "must set spec.nodeName if mirror pod annotation is set";
            value.invalid(detail, found);
        }
    }
    for (key, value) in annotations.entries() {
        if let Some(container) = key.strip_prefix(APP_ARMOR) {
            app_armor(container, &value, spec, found);
        }
    }
    for (key, value) in annotations.entries() {
        if key == COST {
            deletion_cost(&value, found);
        }
    }
}

/// The keys of the annotations of a template.
pub(super) fn keys(annotations: &Part, found: &mut Vec<FieldError>) {
    for (key, _) in annotations.entries() {
        for wrong in names::qualified_name(&key.to_lowercase()) {
            annotations.invalid_as(key, wrong, found);
        }
    }
}

fn app_armor(container: &str, value: &Part, spec: &Part, found: &mut Vec<FieldError>) {
    if !containers::names(spec).contains(container) {
        value.invalid_as(container, "container not found", found);
    }
    let profile = value.text();
    let known = ["", "runtime/default", "unconfined"].contains(&profile);
    if !known && !profile.starts_with("localhost/") {
        let detail = format!("invalid AppArmor profile name: {profile:?}");
        value.invalid(detail, found);
    }
}

fn deletion_cost(value: &Part, found: &mut Vec<FieldError>) {
    let cost = value.text();
    let digits = cost.strip_prefix('-').unwrap_or(cost);
    let leads = digits.len() > 1 && digits.starts_with('0') || cost == "-0";
    if cost.parse::<i32>().is_err() || leads || cost.starts_with('+') {
        value.invalid("must be a 32bit integer", found);
    }
}
