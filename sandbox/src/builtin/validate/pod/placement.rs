use std::collections::{BTreeMap, BTreeSet};

use super::super::part::Part;
use super::super::selector::label_selector;
use crate::names;
use crate::schema::FieldError;

/// Which nodes and other Pods a Pod prefers or needs.
pub(super) fn affinity(affinity: &Part, found: &mut Vec<FieldError>) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    if let Some(nodes) = affinity.set("nodeAffinity") {
        if let Some(required) = nodes.set(REQUIRED) {
            node_selector(&required, found);
        }
        for term in nodes.items(PREFERRED) {
            weight(&term, found);
            node_term(&term.get("preference"), false, found);
        }
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = affinity.set(kind) else {
            continue;
        };
        for term in pods.items(REQUIRED) {
            pod_term(&term, found);
        }
        for term in pods.items(PREFERRED) {
            weight(&term, found);
            pod_term(&term.get("podAffinityTerm"), found);
        }
    }
}

fn weight(term: &Part, found: &mut Vec<FieldError>) {
    let weight = term.get("weight");
    let number = weight.number().unwrap_or(0);
    if !(1..=100).contains(&number) {
        weight.invalid_as(number, "must be in the range 1-100", found);
    }
}

/// A selector of nodes.
pub(in super::super) fn node_selector(selector: &Part, found: &mut Vec<FieldError>) {
    let terms = selector.get("nodeSelectorTerms");
    if selector.list("nodeSelectorTerms").is_empty() {
        return terms.missing("must have at least one node selector term", found);
    }
    for term in selector.items("nodeSelectorTerms") {
        node_term(&term, true, found);
    }
}

/// A term of a selector of nodes. A preferred one may have values that no label has.
fn node_term(term: &Part, strict: bool, found: &mut Vec<FieldError>) {
    for expression in term.items("matchExpressions") {
        let (values, count) = (expression.get("values"), expression.list("values").len());
        let operator = expression.get("operator");
        match operator.text() {
            "In" | "NotIn" if count == 0 => values.missing(
                "must be specified when `operator` is 'In' or 'NotIn'",
                found,
            ),
            "Exists" | "DoesNotExist" if count > 0 => values.forbidden(
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                found,
            ),
            "Gt" | "Lt" if count != 1 => values.missing(
                "must be specified single value when `operator` is 'Lt' or 'Gt'",
                found,
            ),
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            text => operator.invalid_as(text, "not a valid selector operator", found),
        }
        expression.get("key").name(names::qualified_name, found);
        if strict {
            for value in expression.items("values") {
                value.name(names::label_value, found);
            }
        }
    }
    for field in term.items("matchFields") {
        let operator = field.get("operator");
        match operator.text() {
            "In" | "NotIn" if field.list("values").len() != 1 => {
                let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                field.get("values").missing(detail, found);
            }
            "In" | "NotIn" => {}
            text => operator.invalid_as(text, "not a valid selector operator", found),
        }
        let key = field.get("key");
        if key.text() != "metadata.name" {
            key.invalid_as(key.text(), "not a valid field selector key", found);
            continue;
        }
        for value in field.items("values") {
            value.name(names::dns_subdomain, found);
        }
    }
}

fn pod_term(term: &Part, found: &mut Vec<FieldError>) {
    for field in ["labelSelector", "namespaceSelector"] {
        if let Some(selector) = term.set(field) {
            label_selector(selector.value, &selector.path, found);
        }
    }
    let path = term.get("namespace").path;
    for namespace in term.items("namespaces") {
        namespace.named_as(&path).name(names::dns_label, found);
    }
    label_keys(term, found);
    let key = term.get("topologyKey");
    if key.text().is_empty() {
        key.missing("can not be empty", found);
    }
    key.name(names::qualified_name, found);
}

/// The labels whose values are those of the Pod itself.
fn label_keys(owner: &Part, found: &mut Vec<FieldError>) {
    let selector = owner.set("labelSelector");
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        if !owner.list(field).is_empty() && selector.is_none() {
            let detail = "must not be specified when labelSelector is not set";
            owner.get(field).forbidden(detail, found);
            continue;
        }
        for key in owner.items(field) {
            key.name(names::qualified_name, found);
        }
    }
    if let Some(selector) = selector {
        let wanted = owner.list("matchLabelKeys").iter().enumerate();
        let wanted: BTreeMap<&str, usize> = wanted
            .filter_map(|(index, key)| Some((key.as_str()?, index)))
            .collect();
        let labels = selector.get("matchLabels");
        let mut known: BTreeSet<&str> = labels.entries().map(|(key, _)| key).collect();
        for expression in selector.items("matchExpressions") {
            let key = expression.text_of("key");
            if let Some(index) = wanted.get(key).filter(|_| known.contains(key)) {
                let field = format!("{}[{index}]", owner.path);
                let detail = "exists in both matchLabelKeys and labelSelector";
                found.push(FieldError::invalid(field, key, detail));
            }
            known.insert(key);
        }
    }
    let others = owner.list("mismatchLabelKeys").iter();
    let others: BTreeSet<&str> = others.filter_map(|key| key.as_str()).collect();
    for key in owner.items("matchLabelKeys") {
        if others.contains(key.text()) {
            key.invalid("exists in both matchLabelKeys and mismatchLabelKeys", found);
        }
    }
}

/// The taints that a Pod, or the Pods of a class, tolerate.
pub(in super::super) fn tolerations(owner: &Part, found: &mut Vec<FieldError>) {
    for toleration in owner.items("tolerations") {
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|field| toleration.get(field));
        key.name_if_set(names::qualified_name, found);
        if key.text().is_empty() && operator.text() != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            operator.invalid_as(operator.text(), detail, found);
        }
        if toleration.set("tolerationSeconds").is_some() && effect.text() != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            effect.invalid_as(effect.text(), detail, found);
        }
        match operator.text() {
            "" | "Equal" => {
                let wrong = names::label_value(value.text());
                if !wrong.is_empty() {
                    operator.invalid_as(value.text(), wrong.join(";"), found);
                }
            }
            "Exists" if !value.text().is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                operator.invalid_as(value.text(), detail, found);
            }
            "Exists" => {}
            // A real server names the operators that a feature adds only when it refuses them.
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                let field = &operator.path;
                found.push(FieldError::not_supported(field, operator.text(), known));
            }
            _ => operator.one_of(&["Equal", "Exists"], found),
        }
        if !effect.text().is_empty() {
            effect.one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"], found);
        }
    }
}

/// How Pods are spread over the parts of a cluster.
pub(super) fn topology_spread(spec: &Part, found: &mut Vec<FieldError>) {
    const ACTIONS: &[&str] = &["DoNotSchedule", "ScheduleAnyway"];
    let pair = |constraint: &Part<'_>| {
        let texts = ["topologyKey", "whenUnsatisfiable"].map(|field| constraint.get(field));
        texts.map(|part| part.text().to_owned())
    };
    // How often each pair is still to come.
    let mut later: BTreeMap<[String; 2], usize> = BTreeMap::new();
    for constraint in spec.items("topologySpreadConstraints") {
        *later.entry(pair(&constraint)).or_default() += 1;
    }
    for constraint in spec.items("topologySpreadConstraints") {
        positive(&constraint.get("maxSkew"), found);
        let (key, action) = (
            constraint.get("topologyKey"),
            constraint.get("whenUnsatisfiable"),
        );
        if key.text().is_empty() {
            key.missing("can not be empty", found);
        }
        action.one_of(ACTIONS, found);
        let count = later.entry(pair(&constraint)).or_default();
        *count -= 1;
        if *count > 0 {
            let field = constraint.get("{topologyKey, whenUnsatisfiable}").path;
            let value = format!("{{{}, {}}}", key.text(), action.text());
            found.push(FieldError::duplicate(field, value.into()));
        }
        if let Some(least) = constraint.set("minDomains") {
            positive(&least, found);
            if action.text() != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}",
                    action.text()
                );
                least.invalid(detail, found);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            constraint
                .get(field)
                .one_of_if_set(&["Honor", "Ignore"], found);
        }
        label_keys(&constraint, found);
        if let Some(selector) = constraint.set("labelSelector") {
            label_selector(selector.value, &selector.path, found);
        }
    }
}

fn positive(number: &Part, found: &mut Vec<FieldError>) {
    if number.number().unwrap_or(0) <= 0 {
        let value = number.number().unwrap_or(0);
        number.invalid_as(value, "must be greater than zero", found);
    }
}
