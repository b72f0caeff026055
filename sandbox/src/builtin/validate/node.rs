use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::network;
use super::internal_form::internal_text;
use super::limits::is_integer_resource;
use super::part::Part;
use crate::go::Quantity;
use crate::names;
use crate::schema::{FieldError, FieldErrorKind};

/// A Node that is created or replaces `old`.
pub(super) fn node(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let node = Part::new(object, "");
    avoided_pods(&node, found);
    match old {
        None => {
            taints(&node, found);
            resources(&node, found);
            pod_networks(&node, found);
        }
        Some(old) => {
            let old = Part::new(old, "");
            resources(&node, found);
            set_once(&node, &old, found);
            taints(&node, found);
        }
    }
}

/// The status of a Node.
pub(super) fn node_status(object: &Value, found: &mut Vec<FieldError>) {
    let node = Part::new(object, "");
    resources(&node, found);
    let mut known = BTreeSet::new();
    for address in node.get("status").items("addresses") {
        if !known.insert(address.value.to_string()) {
            let shown = internal_text("core.NodeAddress", address.value);
            let kind = FieldErrorKind::Duplicate;
            found.push(FieldError::new(kind, &address.path, None, shown));
        }
    }
}

fn avoided_pods(node: &Part, found: &mut Vec<FieldError>) {
    const KEY: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";
    let annotations = node.get("metadata").get("annotations");
    let text = annotations.text_of(KEY);
    let first = text.trim_start().chars().next();
    if let Some(first) = first.filter(|_| serde_json::from_str::<Value>(text).is_err()) {
        let detail = format!("invalid character {first:?} looking for beginning of value");
        annotations.get("AvoidPods").invalid_as(KEY, detail, found);
    }
}

/// A real server reports taints as if they belonged to the metadata.
fn taints(node: &Part, found: &mut Vec<FieldError>) {
    let mut known = BTreeSet::new();
    for (index, taint) in node.get("spec").items("taints").enumerate() {
        let taint = taint.named_as(format!("metadata.taints[{index}]"));
        taint.get("key").name(names::qualified_name, found);
        let value = taint.get("value");
        let wrong = names::label_value(value.text());
        if !wrong.is_empty() {
            value.invalid_as(value.text(), wrong.join(";"), found);
        }
        let effects = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
        taint.get("effect").choice(effects, found);
        if !known.insert((taint.text_of("key"), taint.text_of("effect"))) {
            let shown = internal_text("core.Taint", taint.value);
            let detail = format!("{shown}: taints must be unique by key and effect pair");
            let kind = FieldErrorKind::Duplicate;
            found.push(FieldError::new(kind, &taint.path, None, detail));
        }
    }
}

fn resources(node: &Part, found: &mut Vec<FieldError>) {
    let status = node.get("status");
    for list in ["capacity", "allocatable"] {
        for (name, quantity) in status.get(list).entries() {
            let quantity = quantity.named_as(format!("status.{list}.{name}"));
            let Some(number) = Quantity::parse(quantity.text()) else {
                continue;
            };
            if number.is_negative() {
                quantity.invalid("must be greater than or equal to 0", found);
            }
            if is_integer_resource(name) && number.milli() % 1000 != 0 {
                quantity.invalid("must be an integer", found);
            }
        }
    }
}

/// The networks of a Node's Pods: one, or one of each family.
fn pod_networks(node: &Part, found: &mut Vec<FieldError>) {
    let spec = node.get("spec");
    let mut families = Vec::new();
    for range in spec.items("podCIDRs") {
        let parsed = network(range.text(), &range.path, found);
        families.extend(parsed.map(|network| network.address.is_ipv4()));
    }
    let both = families.contains(&true) && families.contains(&false);
    let count = spec.list("podCIDRs").len();
    if count > 2 || count == 2 && !both {
        let detail = "may specify no more than one CIDR for each IP family";
        spec.get("podCIDRs").invalid(detail, found);
    }
}

/// What a Node gets once and then keeps.
fn set_once(node: &Part, old: &Part, found: &mut Vec<FieldError>) {
    let (spec, old) = (node.get("spec"), old.get("spec"));
    if !old.list("podCIDRs").is_empty() && old.list("podCIDRs") != spec.list("podCIDRs") {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        spec.get("podCIDRs").forbidden(detail, found);
    }
    let (provider, was) = (spec.get("providerID"), old.text_of("providerID"));
    if !was.is_empty() && provider.text() != was {
        let detail = match provider.text() {
            "" => "field cannot be cleared once set",
            _ => "field cannot be modified once set",
        };
        provider.invalid_as(Value::Null, detail, found);
    }
    if spec.text_of("externalID") != old.text_of("externalID") {
        spec.get("externalID")
            .forbidden("may not be updated", found);
    }
}

/// A Namespace.
pub(super) fn namespace(object: &Value, found: &mut Vec<FieldError>) {
    let spec = Part::new(object, "").get("spec");
    let path = spec.get("finalizers").path;
    for finalizer in spec.items("finalizers") {
        let finalizer = finalizer.named_as(&path);
        finalizer.name(names::qualified_name, found);
        let known = ["kubernetes", "orphan", "foregroundDeletion"];
        let text = finalizer.text();
        if !text.contains('/') && !known.contains(&text) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            finalizer.invalid(detail, found);
        }
    }
}
