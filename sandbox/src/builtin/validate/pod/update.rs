use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::fields::{at, list, text};
use super::super::internal_form::{changed, internal_invalid, internal_text};
use super::super::part::Part;
use super::containers::image_of_pod;
use super::placement::tolerations;
use crate::builtin::defaults::qos_class;
use crate::schema::{FieldError, FieldErrorKind};

/// What of a Pod may change. `found` has the errors of the new Pod.
pub(in super::super) fn pod_update(object: &Value, old: &Value, found: &mut Vec<FieldError>) {
    let (spec, old) = (
        Part::new(object, "").get("spec"),
        Part::new(old, "").get("spec"),
    );
    for list in ["containers", "initContainers"] {
        if spec.list(list).len() != old.list(list).len() {
            let detail = "pod updates may not add or remove containers";
            return spec.get(list).forbidden(detail, found);
        }
        for container in spec.items(list) {
            container.get("image").required(found);
            image_of_pod(&container, found);
        }
    }
    let (deadline, old_deadline) = (
        spec.get("activeDeadlineSeconds"),
        old.get("activeDeadlineSeconds"),
    );
    match (deadline.number(), old_deadline.number()) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            return deadline.within(0, i64::from(i32::MAX), found);
        }
        (Some(now), Some(before)) if before < now => {
            let detail = "must be less than or equal to previous value";
            return deadline.invalid(detail, found);
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            deadline.invalid(detail, found);
        }
        _ => {}
    }
    only_more_tolerations(&spec, &old, found);
    only_fewer_gates(&spec, &old, found);
    let now = with_free_fields(&spec, &old, found);
    if now != *old.value {
        let detail = changed("core.PodSpec", UPDATABLE, old.value, &now);
        spec.forbidden(detail, found);
    }
}

const UPDATABLE: &str = "pod updates may not change fields other than \
                         `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                         (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if \
                         it was previously negative)";

/// Tolerations may be added, and how long they last may change.
fn only_more_tolerations(spec: &Part, old: &Part, found: &mut Vec<FieldError>) {
    let without_time = |toleration: &Value| {
        let mut toleration = toleration.as_object().cloned().unwrap_or_default();
        toleration.remove("tolerationSeconds");
        Value::Object(toleration).to_string()
    };
    let now: BTreeSet<String> = spec.list("tolerations").iter().map(without_time).collect();
    let mut before = old.list("tolerations").iter();
    if !before.all(|toleration| now.contains(&without_time(toleration))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        return spec.get("tolerations").forbidden(detail, found);
    }
    tolerations(spec, found);
}

/// Scheduling gates may only be removed.
fn only_fewer_gates(spec: &Part, old: &Part, found: &mut Vec<FieldError>) {
    let known = old.list("schedulingGates").iter();
    let known: BTreeSet<&str> = known
        .filter_map(|gate| gate.get("name")?.as_str())
        .collect();
    for gate in spec.items("schedulingGates") {
        let name = gate.get("name");
        if !known.contains(name.text()) {
            let detail = format!(
                "only deletion is allowed, but found new scheduling gate '{}'",
                name.text()
            );
            name.forbidden(detail, found);
        }
    }
}

/// The new specification with the old values of the fields that may change.
fn with_free_fields(spec: &Part, old: &Part, found: &mut Vec<FieldError>) -> Value {
    let Some(mut fields) = spec.value.as_object().cloned() else {
        return Value::Null;
    };
    let put = |fields: &mut Map<String, Value>, name: &str, value: Option<&Value>| match value {
        Some(value) => drop(fields.insert(name.to_owned(), value.clone())),
        None => drop(fields.remove(name)),
    };
    for list in ["containers", "initContainers"] {
        let items = fields.get_mut(list).and_then(Value::as_array_mut);
        for (container, before) in items.into_iter().flatten().zip(old.list(list)) {
            if let Some(container) = container.as_object_mut() {
                put(container, "image", before.get("image"));
            }
        }
    }
    for free in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        put(&mut fields, free, old.value.get(free));
    }
    const GRACE: &str = "terminationGracePeriodSeconds";
    if old.number_of(GRACE).is_some_and(|seconds| seconds < 0) && spec.number_of(GRACE) == Some(1) {
        put(&mut fields, GRACE, old.value.get(GRACE));
    }
    // A Pod that is not scheduled yet may still be sent to fewer nodes.
    if !old.list("schedulingGates").is_empty() {
        more_labels(spec, old, found);
        put(&mut fields, "nodeSelector", old.value.get("nodeSelector"));
        fewer_nodes(&spec.get("affinity"), &old.get("affinity"), found);
        affinity_of_old(&mut fields, old);
    }
    Value::Object(fields)
}

fn more_labels(spec: &Part, old: &Part, found: &mut Vec<FieldError>) {
    let selector = spec.get("nodeSelector");
    let mut before = old.get("nodeSelector").entries();
    if before.any(|(key, value)| selector.value.get(key) != Some(value.value)) {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        selector.invalid(detail, found);
    }
}

fn fewer_nodes(affinity: &Part, old: &Part, found: &mut Vec<FieldError>) {
    let required = |affinity: &Part| {
        let nodes = affinity.get("nodeAffinity").value.clone();
        let terms =
            nodes.pointer("/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
        terms.and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (now, before) = (required(affinity), required(old));
    let path = format!(
        "{}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        affinity.path
    );
    if before.is_empty() {
        return;
    }
    const TERM: &str = "core.NodeSelectorTerm";
    if now.len() != before.len() {
        let shown: Vec<String> = now.iter().map(|term| internal_text(TERM, term)).collect();
        let shown = match now.is_empty() {
            true => "null".to_owned(),
            false => format!("[{}]", shown.join(",")),
        };
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let detail = format!("{shown}: {detail}");
        found.push(FieldError::new(FieldErrorKind::Invalid, path, None, detail));
        return;
    }
    for (index, (now, before)) in now.iter().zip(&before).enumerate() {
        let begins = |field: &str| {
            let pointer = format!("/{field}");
            list(now, &pointer).starts_with(list(before, &pointer))
        };
        let fields = ["matchExpressions", "matchFields"];
        let is_empty = |term: &Value| fields.iter().all(|field| term.get(field).is_none());
        if !fields.into_iter().all(begins) || is_empty(before) && !is_empty(now) {
            let detail = "only additions are allowed (no mutations or deletions)";
            found.push(internal_invalid(
                TERM,
                &format!("{path}[{index}]"),
                now,
                detail,
            ));
        }
    }
}

fn affinity_of_old(fields: &mut Map<String, Value>, old: &Part) {
    let nodes = old.get("affinity").set("nodeAffinity");
    let mut affinity = match fields.get("affinity") {
        Some(Value::Object(affinity)) => affinity.clone(),
        _ => Map::new(),
    };
    match nodes {
        Some(nodes) => drop(affinity.insert("nodeAffinity".into(), nodes.value.clone())),
        None => drop(affinity.remove("nodeAffinity")),
    }
    let was_absent = old.set("affinity").is_none();
    match affinity.is_empty() && was_absent {
        true => drop(fields.remove("affinity")),
        false => drop(fields.insert("affinity".into(), affinity.into())),
    }
}

/// Refuses changes of ephemeral containers other than additions.
pub(in super::super) fn ephemeral_update(object: &Value, old: &Value, found: &mut Vec<FieldError>) {
    const LIST: &str = "/spec/ephemeralContainers";
    for old in list(old, LIST) {
        let name = text(old, "/name");
        let mut now = list(object, LIST).iter();
        let detail = match now.find(|container| text(container, "/name") == name) {
            None => format!("existing ephemeral containers {name:?} may not be removed\n"),
            Some(now) if now != old => {
                format!("existing ephemeral containers {name:?} may not be changed\n")
            }
            Some(_) => continue,
        };
        found.push(FieldError::forbidden("spec.ephemeralContainers", detail));
    }
}

/// Refuses changes of resources other than changes of cpu and memory that keep the QoS class.
pub(in super::super) fn resize(object: &Value, old: &Value, found: &mut Vec<FieldError>) {
    let class = |pod: &Value| pod.get("spec").map(qos_class);
    if class(object) != class(old) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        let now = at(object, "/status/qosClass");
        found.push(FieldError::invalid("spec", now.clone(), detail));
    }
    // A node that does not support it does not report the resources of a container.
    let statuses = list(object, "/status/containerStatuses").iter();
    let mut running = statuses.filter(|status| status.pointer("/state/running").is_some());
    if running
        .next()
        .is_some_and(|status| status.get("resources").is_none())
    {
        let detail = "Pod running on node without support for resize";
        found.push(FieldError::forbidden("spec", detail));
    }
    let before = found.len();
    for kind in ["containers", "initContainers"] {
        let pointer = format!("/spec/{kind}");
        let (new, old) = (list(object, &pointer), list(old, &pointer));
        if new.len() != old.len() {
            let detail = format!("{kind} may not be added or removed on resize");
            found.push(FieldError::forbidden(format!("spec.{kind}"), detail));
            continue;
        }
        for (index, (new, old)) in new.iter().zip(old).enumerate() {
            if new.get("name") != old.get("name") {
                let detail = format!("{kind} may not be renamed or reordered on resize");
                found.push(FieldError::forbidden(
                    format!("spec.{kind}[{index}].name"),
                    detail,
                ));
            }
        }
    }
    if found.len() > before {
        return;
    }
    for kind in ["containers", "initContainers"] {
        let pointer = format!("/spec/{kind}");
        for (index, (new, old)) in list(object, &pointer)
            .iter()
            .zip(list(old, &pointer))
            .enumerate()
        {
            for what in ["requests", "limits"] {
                let of = |container: &Value| match at(container, &format!("/resources/{what}")) {
                    Value::Object(resources) => resources.clone(),
                    _ => Map::new(),
                };
                let (new, old) = (of(new), of(old));
                let field = format!("spec.{kind}[{index}].resources.{what}");
                if old.keys().any(|name| !new.contains_key(name)) {
                    let detail = format!("resource {what} cannot be removed");
                    found.push(FieldError::forbidden(field, detail));
                }
                let fixed = |name: &&String| !matches!(name.as_str(), "cpu" | "memory");
                if new
                    .keys()
                    .filter(fixed)
                    .any(|name| new.get(name) != old.get(name))
                {
                    let detail = "only cpu and memory resources are mutable";
                    found.push(FieldError::forbidden("spec", detail));
                }
            }
        }
    }
}
