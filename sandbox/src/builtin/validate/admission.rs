use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{at, indexed, list, name, port_number, required, supported, text};
use super::selector::label_selector;
use crate::names;
use crate::schema::{Declarations, Expression, FieldError, Returns};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
pub(super) const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
pub(super) const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
pub(super) const REINVOCATIONS: [&str; 2] = ["IfNeeded", "Never"];
/// The versions of AdmissionReview that a server sends.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// A ValidatingWebhookConfiguration or MutatingWebhookConfiguration.
pub(super) fn webhooks(object: &Value, mutating: bool, found: &mut Vec<FieldError>) {
    let mut known = BTreeSet::new();
    for (field, webhook) in indexed(object, "/webhooks", "webhooks") {
        one_webhook(webhook, &field, found);
        if mutating {
            let field = format!("{field}.reinvocationPolicy");
            let policy = text(webhook, "/reinvocationPolicy");
            supported(policy, &field, &REINVOCATIONS, found);
        }
        let label = text(webhook, "/name");
        if !known.insert(label) {
            found.push(FieldError::duplicate(format!("{field}.name"), label.into()));
        }
    }
}

fn one_webhook(webhook: &Value, field: &str, found: &mut Vec<FieldError>) {
    let versions = list(webhook, "/admissionReviewVersions");
    let versions_field = format!("{field}.admissionReviewVersions");
    if versions.is_empty() {
        let detail = format!("must specify one of {}", REVIEWS.join(", "));
        found.push(FieldError::required(versions_field, detail));
    } else if !versions
        .iter()
        .any(|version| REVIEWS.iter().any(|known| version == known))
    {
        let detail = format!("must include at least one of {}", REVIEWS.join(", "));
        found.push(FieldError::invalid(versions_field, versions, detail));
    }
    let mut known = BTreeSet::new();
    for (index, version) in versions.iter().filter_map(Value::as_str).enumerate() {
        if !known.insert(version) {
            let field = format!("{field}.admissionReviewVersions[{index}]");
            found.push(FieldError::invalid(field, version, "duplicate version"));
        }
    }
    fully_qualified(text(webhook, "/name"), &format!("{field}.name"), found);
    for (rule_field, rule) in indexed(webhook, "/rules", &format!("{field}.rules")) {
        operations(rule, &rule_field, found);
    }
    let policy = text(webhook, "/failurePolicy");
    supported(
        policy,
        &format!("{field}.failurePolicy"),
        &FAILURE_POLICIES,
        found,
    );
    let policy = text(webhook, "/matchPolicy");
    supported(
        policy,
        &format!("{field}.matchPolicy"),
        &MATCH_POLICIES,
        found,
    );
    let effects_field = format!("{field}.sideEffects");
    match text(webhook, "/sideEffects") {
        "" => {
            let detail = "must specify one of None, NoneOnDryRun";
            found.push(FieldError::required(effects_field, detail));
        }
        effects => supported(effects, &effects_field, &["None", "NoneOnDryRun"], found),
    }
    let seconds = at(webhook, "/timeoutSeconds");
    if seconds.as_i64().is_some_and(|s| !(1..=30).contains(&s)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        let field = format!("{field}.timeoutSeconds");
        found.push(FieldError::invalid(field, seconds.clone(), detail));
    }
    selectors(webhook, field, found);
    webhook_client(
        at(webhook, "/clientConfig"),
        &format!("{field}.clientConfig"),
        found,
    );
    let declarations = Declarations::of_request().with_authorizer();
    conditions(webhook, field, &declarations, found);
}

fn fully_qualified(value: &str, field: &str, found: &mut Vec<FieldError>) {
    if value.is_empty() {
        found.push(FieldError::required(field, ""));
        return;
    }
    let wrong = names::dns_subdomain(value);
    if !wrong.is_empty() {
        return name(value, field, |_| wrong.clone(), found);
    }
    if value.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        found.push(FieldError::invalid(field, value, detail));
    }
}

pub(super) fn selectors(fields: &Value, field: &str, found: &mut Vec<FieldError>) {
    for kind in ["namespaceSelector", "objectSelector"] {
        let selector = at(fields, &format!("/{kind}"));
        if !selector.is_null() {
            label_selector(selector, &format!("{field}.{kind}"), found);
        }
    }
}

/// How the server reaches a webhook.
pub(crate) fn webhook_client(client: &Value, field: &str, found: &mut Vec<FieldError>) {
    let (url, service) = (at(client, "/url"), at(client, "/service"));
    if url.is_null() == service.is_null() {
        let detail = "exactly one of url or service is required";
        return found.push(FieldError::required(field, detail));
    }
    if let Some(url) = url.as_str() {
        return address(url, &format!("{field}.url"), found);
    }
    service_reference(service, &format!("{field}.service"), found);
}

/// A service that the API server calls.
pub(super) fn service_reference(service: &Value, field: &str, found: &mut Vec<FieldError>) {
    for part in ["name", "namespace"] {
        let value = text(service, &format!("/{part}"));
        required(value, &format!("{field}.{part}"), found);
    }
    if let Some(path) = at(service, "/path").as_str() {
        service_path(path, &format!("{field}.path"), found);
    }
    let port = at(service, "/port");
    let mut wrong = Vec::new();
    port_number(port, &format!("{field}.port"), &mut wrong);
    found.extend(wrong.into_iter().map(|error| FieldError {
        detail: format!("port is not valid: {}", error.detail),
        ..error
    }));
}

fn service_path(path: &str, field: &str, found: &mut Vec<FieldError>) {
    let mut invalid = |detail: String| found.push(FieldError::invalid(field, path, detail));
    if path.is_empty() || path == "/" {
        return;
    }
    if !path.starts_with('/') {
        invalid("must start with a '/'".into());
    }
    // A real server leaves out the first letter, whatever it is.
    let mut letters = path.chars();
    letters.next();
    let inner = letters.as_str();
    let steps = inner.split('/').count();
    for (index, step) in inner.split('/').enumerate() {
        if step.is_empty() && (index + 1 < steps || index == 0) {
            invalid(format!("segment[{index}] may not be empty"));
        } else if !step.is_empty() {
            for wrong in names::dns_subdomain(step) {
                invalid(format!("segment[{index}]: {wrong}"));
            }
        }
    }
}

fn address(url: &str, field: &str, found: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let mut invalid = |value: &str, detail: &str| {
        found.push(FieldError::invalid(field, value, detail));
    };
    if scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        invalid(scheme, &detail);
    }
    let (before, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (before, query) = before.split_once('?').unwrap_or((before, ""));
    let authority = before.split('/').next().unwrap_or_default();
    if authority.is_empty() {
        invalid("", &format!("host must be specified{FORM}"));
    }
    if let Some((user, _)) = authority.rsplit_once('@') {
        invalid(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        invalid(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        invalid(query, "query parameters are not permitted in the URL");
    }
}

pub(super) fn operations(rule: &Value, field: &str, found: &mut Vec<FieldError>) {
    wildcard(rule, "operations", "other operations", field, found);
    for (field, operation) in indexed(rule, "/operations", &format!("{field}.operations")) {
        let operation = operation.as_str().unwrap_or_default();
        supported(operation, &field, &OPERATIONS, found);
    }
    wildcard(rule, "apiGroups", "other API groups", field, found);
    wildcard(rule, "apiVersions", "other API versions", field, found);
    for (field, version) in indexed(rule, "/apiVersions", &format!("{field}.apiVersions")) {
        required(version.as_str().unwrap_or_default(), &field, found);
    }
    resources(rule, field, found);
    let scope = text(rule, "/scope");
    supported(
        scope,
        &format!("{field}.scope"),
        &["*", "Cluster", "Namespaced"],
        found,
    );
}

/// A list of a rule must not be empty, and `*` must stand alone.
fn wildcard(rule: &Value, part: &str, others: &str, field: &str, found: &mut Vec<FieldError>) {
    let items = list(rule, &format!("/{part}"));
    let field = format!("{field}.{part}");
    if items.is_empty() {
        found.push(FieldError::required(field, ""));
    } else if items.len() > 1 && items.iter().any(|item| item == "*") {
        let detail = format!("if '*' is present, must not specify {others}");
        found.push(FieldError::invalid(field, items, detail));
    }
}

fn resources(rule: &Value, field: &str, found: &mut Vec<FieldError>) {
    let items = list(rule, "/resources");
    let field = format!("{field}.resources");
    if items.is_empty() {
        return found.push(FieldError::required(field, ""));
    }
    let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
    let (mut whole, mut all_of) = (BTreeSet::new(), BTreeSet::new());
    for (index, resource) in texts.iter().enumerate() {
        let field = format!("{field}[{index}]");
        let invalid = |detail: String| FieldError::invalid(&field, *resource, detail);
        match resource.split_once('/') {
            _ if resource.is_empty() => found.push(FieldError::required(&field, "")),
            Some((resource, _)) if whole.contains(resource) => found.push(invalid(format!(
                "if '{resource}/*' is present, must not specify {resource}/*"
            ))),
            Some((_, part)) if all_of.contains(part) => found.push(invalid(format!(
                "if '*/{part}' is present, must not specify */{part}"
            ))),
            Some((resource, "*")) => {
                whole.insert(resource);
            }
            Some(("*", part)) => {
                all_of.insert(part);
            }
            _ => {}
        }
    }
    let has = |wanted: &str| texts.contains(&wanted);
    if texts.len() > 1 && has("*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        found.push(FieldError::invalid(&field, items, detail));
    }
    let plain = texts.iter().any(|text| !text.contains('/') && *text != "*");
    if has("*") && plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        found.push(FieldError::invalid(&field, items, detail));
    }
}

/// Compiles an expression over these variables. Returns `None` if it is wrong.
pub(super) fn expression(
    value: &Value,
    field: &str,
    (declarations, returns): (&Declarations, Returns),
    found: &mut Vec<FieldError>,
) -> Option<Expression> {
    let source = value.as_str().unwrap_or_default();
    if source.trim().is_empty() {
        let last = field.rsplit('.').next().unwrap_or_default();
        let detail = format!("{last} is not specified");
        found.push(FieldError::required(field, detail));
        return None;
    }
    let compiled = Expression::compile(source, declarations, returns);
    compiled
        .map_err(|wrong| found.push(FieldError::invalid(field, source, wrong)))
        .ok()
}

pub(super) fn conditions(
    fields: &Value,
    field: &str,
    declarations: &Declarations,
    found: &mut Vec<FieldError>,
) {
    const MOST: usize = 64;
    let path = format!("{field}.matchConditions");
    let all = list(fields, "/matchConditions");
    if all.len() > MOST {
        found.push(FieldError::too_many(&path, all.len(), MOST as u64));
    }
    let mut known = BTreeSet::new();
    for (field, condition) in indexed(fields, "/matchConditions", &path) {
        let path = format!("{field}.expression");
        if text(condition, "/expression").trim().is_empty() {
            found.push(FieldError::required(path, ""));
        } else {
            let wanted = (declarations, Returns::Bool);
            expression(at(condition, "/expression"), &path, wanted, found);
        }
        let label = text(condition, "/name");
        let field = format!("{field}.name");
        if label.is_empty() {
            found.push(FieldError::required(field, ""));
        } else {
            name(label, &field, names::qualified_name, found);
            if !known.insert(label) {
                found.push(FieldError::duplicate(field, label.into()));
            }
        }
    }
}
