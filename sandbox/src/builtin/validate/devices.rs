use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{
    any_case_name, at, fixed, immutable, indexed, list, map, name, required, required_name,
    supported, text,
};
use super::internal_form::internal_invalid;
use crate::names;
use crate::schema::{FieldError, FieldErrorKind, compile_expression};

const DRIVER_LENGTH: usize = 63;

/// `resource.k8s.io`.
pub(super) fn devices(
    kind: &str,
    object: &Value,
    old: Option<&Value>,
    found: &mut Vec<FieldError>,
) {
    let spec = at(object, "/spec");
    match kind {
        "DeviceClass" => device_class(spec, found),
        "DeviceTaintRule" => taint_rule(spec, found),
        "ResourceSlice" => slice(object, old, found),
        "ResourceClaim" => {
            if old.is_none() {
                claim(spec, "spec", found);
            }
            if let Some(old) = old {
                fixed(object, old, "/spec", found);
            }
        }
        "ResourceClaimTemplate" => {
            claim(at(spec, "/spec"), "spec.spec", found);
            if old.is_some_and(|old| at(old, "/spec") != spec) {
                let kind = "resource.ResourceClaimTemplateSpec";
                found.push(internal_invalid(kind, "spec", spec, "field is immutable"));
            }
        }
        _ => {}
    }
}

fn driver(value: &str, field: &str, found: &mut Vec<FieldError>) {
    if value.len() > DRIVER_LENGTH {
        found.push(FieldError::too_long(field, DRIVER_LENGTH as u64));
    }
    required_name(value, field, names::dns_subdomain, found);
}

fn selectors(of: &Value, field: &str, found: &mut Vec<FieldError>) {
    for (field, selector) in indexed(of, "/selectors", &format!("{field}.selectors")) {
        let cel = at(selector, "/cel");
        if cel.is_null() {
            found.push(FieldError::required(format!("{field}.cel"), ""));
            continue;
        }
        let source = text(cel, "/expression");
        if let Err(wrong) = compile_expression(source, &["device"]) {
            let field = format!("{field}.cel.expression");
            found.push(FieldError::invalid(field, source, wrong));
        }
    }
}

fn opaque(config: &Value, field: &str, found: &mut Vec<FieldError>) {
    let opaque = at(config, "/opaque");
    if opaque.is_null() {
        return found.push(FieldError::required(format!("{field}.opaque"), ""));
    }
    any_case_name(
        text(opaque, "/driver"),
        &format!("{field}.opaque.driver"),
        DRIVER_LENGTH,
        found,
    );
    let parameters = at(opaque, "/parameters");
    let field = format!("{field}.opaque.parameters");
    if parameters.is_null() {
        found.push(FieldError::required(field, ""));
    } else if !parameters.is_object() {
        let detail = "parameters must be a valid JSON object";
        found.push(FieldError::invalid(field, "<value omitted>", detail));
    }
}

fn device_class(spec: &Value, found: &mut Vec<FieldError>) {
    selectors(spec, "spec", found);
    for (field, config) in indexed(spec, "/config", "spec.config") {
        opaque(config, &field, found);
    }
    let resource = at(spec, "/extendedResourceName");
    if let Some(label) = resource.as_str() {
        let mut wrong = Vec::new();
        if !label.contains('/') {
            let detail = "a name must be a domain-prefixed path, such as 'example.com/my-prop'";
            wrong.push(detail.to_owned());
        } else if label.contains("kubernetes.io/") {
            wrong.push("must not have \"kubernetes.io/\" domain".to_owned());
        }
        if label.starts_with("requests.") {
            wrong.push("must not have \"requests.\" prefix".to_owned());
        }
        // A quota counts it under this name.
        wrong.extend(names::qualified_name(&format!("requests.{label}")));
        for detail in wrong {
            let field = "spec.extendedResourceName";
            found.push(FieldError::invalid(field, label, detail));
        }
    }
}

fn claim(spec: &Value, field: &str, found: &mut Vec<FieldError>) {
    let path = format!("{field}.devices.requests");
    let mut known: BTreeSet<String> = BTreeSet::new();
    for (field, request) in indexed(spec, "/devices/requests", &path) {
        let label = text(request, "/name");
        required_name(label, &format!("{field}.name"), names::dns_label, found);
        if !label.is_empty() && !known.insert(label.to_owned()) {
            let shown = in_order(request, REQUEST);
            let kind = FieldErrorKind::Duplicate;
            found.push(FieldError::new(kind, &field, None, shown));
        }
        let (exactly, options) = (at(request, "/exactly"), list(request, "/firstAvailable"));
        match (exactly.is_null(), options.is_empty()) {
            (true, true) => {
                let detail = "exactly one of `exactly` or `firstAvailable` is required";
                found.push(FieldError::required(&field, detail));
            }
            (false, false) => {
                let detail = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
                found.push(FieldError::invalid(&field, Value::Null, detail));
            }
            (false, true) => amount(exactly, &format!("{field}.exactly"), found),
            (true, false) => {}
        }
        let path = format!("{field}.firstAvailable");
        let mut parts = BTreeSet::new();
        for (field, option) in indexed(request, "/firstAvailable", &path) {
            let part = text(option, "/name");
            required_name(part, &format!("{field}.name"), names::dns_label, found);
            if !parts.insert(part) {
                let shown = in_order(option, REQUEST);
                let kind = FieldErrorKind::Duplicate;
                found.push(FieldError::new(kind, &field, None, shown));
            }
            known.insert(format!("{label}/{part}"));
            amount(option, &field, found);
        }
    }
    let path = format!("{field}.devices.constraints");
    for (field, constraint) in indexed(spec, "/devices/constraints", &path) {
        named_requests(constraint, &field, &known, found);
        let attribute = at(constraint, "/matchAttribute");
        let distinct = at(constraint, "/distinctAttribute");
        if attribute.is_null() && distinct.is_null() {
            found.push(FieldError::required(format!("{field}.matchAttribute"), ""));
        }
        for (part, value) in [
            ("matchAttribute", attribute),
            ("distinctAttribute", distinct),
        ] {
            if let Some(label) = value.as_str() {
                let field = format!("{field}.{part}");
                full_name(label, &field, found);
            }
        }
    }
    let path = format!("{field}.devices.config");
    for (field, config) in indexed(spec, "/devices/config", &path) {
        named_requests(config, &field, &known, found);
        opaque(config, &field, found);
    }
}

/// The fields of a request in the order in which a real server shows them.
const REQUEST: &[&str] = &[
    "name",
    "exactly",
    "firstAvailable",
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "key",
    "operator",
    "value",
    "effect",
    "tolerationSeconds",
];

/// JSON with the fields of objects in this order, before the others.
fn in_order(value: &Value, order: &[&str]) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| in_order(item, order)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let place = |name: &str| order.iter().position(|known| *known == name);
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_by_key(|name| (place(name).unwrap_or(order.len()), name.as_str()));
            let parts: Vec<String> = names
                .into_iter()
                .map(|name| {
                    format!(
                        "{}:{}",
                        Value::from(name.as_str()),
                        in_order(&fields[name], order)
                    )
                })
                .collect();
            format!("{{{}}}", parts.join(","))
        }
        other => other.to_string(),
    }
}

fn named_requests(of: &Value, field: &str, known: &BTreeSet<String>, found: &mut Vec<FieldError>) {
    for (field, request) in indexed(of, "/requests", &format!("{field}.requests")) {
        let request = request.as_str().unwrap_or_default();
        if !known.contains(request) {
            let detail = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
            found.push(FieldError::invalid(field, request, detail));
        }
    }
}

fn full_name(label: &str, field: &str, found: &mut Vec<FieldError>) {
    match label.split_once('/') {
        None => {
            let detail = "a fully qualified name must be a domain and a name separated by a slash";
            found.push(FieldError::invalid(field, label, detail));
        }
        Some((domain, rest)) => {
            driver(domain, field, found);
            identifier(rest, field, found);
        }
    }
}

fn identifier(label: &str, field: &str, found: &mut Vec<FieldError>) {
    let mut chars = label.chars();
    let begins = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if label.is_empty() {
        found.push(FieldError::required(field, "the name must not be empty"));
    } else if !begins || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let detail = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
                      characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
                      '[A-Za-z_][A-Za-z0-9_]*')";
        found.push(FieldError::invalid(field, label, detail));
    }
}

fn amount(request: &Value, field: &str, found: &mut Vec<FieldError>) {
    let class = text(request, "/deviceClassName");
    let class_field = format!("{field}.deviceClassName");
    required_name(class, &class_field, names::dns_subdomain, found);
    selectors(request, field, found);
    let (mode, count) = (text(request, "/allocationMode"), at(request, "/count"));
    let number = count.as_i64().unwrap_or_default();
    let count_field = format!("{field}.count");
    match mode {
        "All" if number != 0 => {
            let detail = "must not be specified when allocationMode is 'All'";
            found.push(FieldError::invalid(count_field, number, detail));
        }
        "ExactCount" if number <= 0 => {
            let detail = "must be greater than zero";
            found.push(FieldError::invalid(count_field, number, detail));
        }
        "All" | "ExactCount" => {}
        _ => {
            let field = format!("{field}.allocationMode");
            supported(mode, &field, &["All", "ExactCount"], found);
        }
    }
}

/// How a slice says which nodes can use its devices.
const PLACES: [&str; 4] = [
    "nodeName",
    "nodeSelector",
    "allNodes",
    "perDeviceNodeSelection",
];

fn slice(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = at(object, "/spec");
    driver(text(spec, "/driver"), "spec.driver", found);
    let pool = at(spec, "/pool");
    pool_name(text(pool, "/name"), "spec.pool.name", found);
    if pool["resourceSliceCount"].as_i64().unwrap_or_default() <= 0 {
        let field = "spec.pool.resourceSliceCount";
        let value = pool["resourceSliceCount"].clone();
        found.push(FieldError::invalid(
            field,
            value,
            "must be greater than zero",
        ));
    }
    let generation = &pool["generation"];
    if generation.as_i64().is_some_and(|number| number < 0) {
        let detail = "must be greater than or equal to zero";
        let field = "spec.pool.generation";
        found.push(FieldError::invalid(field, generation.clone(), detail));
    }
    if let Some(old) = old {
        for field in ["/spec/driver", "/spec/pool/name", "/spec/nodeName"] {
            immutable(object, old, field, found);
        }
    }
    let set: Vec<String> = PLACES
        .iter()
        .filter(|place| match at(spec, &format!("/{place}")) {
            Value::Null => false,
            Value::Bool(set) => *set,
            _ => true,
        })
        .map(|place| format!("`{place}`"))
        .collect();
    let all = PLACES.map(|place| format!("`{place}`")).join(", ");
    match set.as_slice() {
        [] => {
            let detail = format!("exactly one of {all} is required");
            found.push(FieldError::required("spec", detail));
        }
        [_] => {}
        several => {
            let detail = format!("exactly one of {all} is required, but multiple fields are set");
            let shown = format!("{{{}}}", several.join(", "));
            found.push(FieldError::invalid("spec", shown, detail));
        }
    }
    let node = text(spec, "/nodeName");
    if !node.is_empty() {
        name(node, "spec.nodeName", names::dns_subdomain, found);
    }
    let mut known = BTreeSet::new();
    for (field, device) in indexed(spec, "/devices", "spec.devices") {
        let label = text(device, "/name");
        required_name(label, &format!("{field}.name"), names::dns_label, found);
        if !known.insert(label) {
            found.push(FieldError::duplicate(&field, label.into()));
        }
        attributes(device, &field, found);
        for (field, taint) in indexed(device, "/taints", &format!("{field}.taints")) {
            self::taint(taint, &field, found);
        }
    }
}

/// A rule that taints devices.
fn taint_rule(spec: &Value, found: &mut Vec<FieldError>) {
    let path = "spec.deviceSelector";
    let selector = at(spec, "/deviceSelector");
    if let Some(label) = selector["driver"].as_str() {
        driver(label, &format!("{path}.driver"), found);
    }
    if let Some(label) = selector["pool"].as_str() {
        pool_name(label, &format!("{path}.pool"), found);
    }
    if let Some(label) = selector["device"].as_str() {
        let field = format!("{path}.device");
        required_name(label, &field, names::dns_label, found);
    }
    taint(at(spec, "/taint"), "spec.taint", found);
}

fn taint(taint: &Value, field: &str, found: &mut Vec<FieldError>) {
    let key = text(taint, "/key");
    name(key, &format!("{field}.key"), names::qualified_name, found);
    let value = text(taint, "/value");
    name(value, &format!("{field}.value"), names::label_value, found);
    let effect = text(taint, "/effect");
    let field = format!("{field}.effect");
    required(effect, &field, found);
    if !effect.is_empty() {
        let known = ["NoExecute", "NoSchedule", "None"];
        supported(effect, &field, &known, found);
    }
}

fn pool_name(label: &str, field: &str, found: &mut Vec<FieldError>) {
    if label.is_empty() {
        return found.push(FieldError::required(field, ""));
    }
    for part in label.split('/') {
        for wrong in names::dns_subdomain(part) {
            found.push(FieldError::invalid(field, part, wrong));
        }
    }
}

fn attributes(device: &Value, field: &str, found: &mut Vec<FieldError>) {
    for (label, value) in map(device, "/attributes") {
        let field = format!("{field}.attributes[{label}]");
        match label.split_once('/') {
            None => identifier(label, &field, found),
            Some(_) => full_name(label, &field, found),
        }
        let values = [
            "int", "bool", "string", "version", "ints", "bools", "strings", "versions",
        ];
        let count = values
            .iter()
            .filter(|kind| value.get(kind).is_some())
            .count();
        if count != 1 {
            let all = values.map(|value| format!("`{value}`")).join(", ");
            let detail = format!("must specify one of: {all}");
            found.push(FieldError::invalid(field, "", detail));
        }
    }
}
