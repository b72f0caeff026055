use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{at, choice, indexed, list, name, port_number, required, supported, text};
use super::selector::label_selector;
use crate::names;
use crate::schema::{Declarations, Expression, FieldError, Returns};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
const REINVOCATIONS: [&str; 2] = ["IfNeeded", "Never"];
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

fn selectors(fields: &Value, field: &str, found: &mut Vec<FieldError>) {
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

fn operations(rule: &Value, field: &str, found: &mut Vec<FieldError>) {
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
fn expression(
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

fn conditions(
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

/// A ValidatingAdmissionPolicy or MutatingAdmissionPolicy.
pub(super) fn policy(object: &Value, mutating: bool, found: &mut Vec<FieldError>) {
    policy_with(object, mutating, Declarations::of_request(), found);
}

/// As [`policy`], with what is known of the types of the variables.
pub(crate) fn policy_with(
    object: &Value,
    mutating: bool,
    mut declarations: Declarations,
    found: &mut Vec<FieldError>,
) {
    let spec = at(object, "/spec");
    let failure = text(spec, "/failurePolicy");
    supported(failure, "spec.failurePolicy", &FAILURE_POLICIES, found);
    let kind = at(spec, "/paramKind");
    if !kind.is_null() {
        declarations = declarations.with_params();
        parameter_kind(kind, found);
    }
    let constraints = at(spec, "/matchConstraints");
    if constraints.is_null() {
        found.push(FieldError::required("spec.matchConstraints", ""));
    } else {
        match_resources(constraints, "spec.matchConstraints", found);
        if list(constraints, "/resourceRules").is_empty() {
            found.push(FieldError::required(
                "spec.matchConstraints.resourceRules",
                "",
            ));
        }
        if mutating {
            mutated_operations(constraints, "spec.matchConstraints", found);
        }
    }
    let mut with_authorizer = declarations.clone().with_authorizer();
    conditions(spec, "spec", &with_authorizer, found);
    if mutating || !list(spec, "/variables").is_empty() {
        declarations = declarations.with_variables();
        with_authorizer = with_authorizer.with_variables();
    }
    for (name, compiled) in variables(spec, &with_authorizer, found) {
        declarations.define(name, compiled.as_ref());
        with_authorizer.define(name, compiled.as_ref());
    }
    if mutating {
        mutations(spec, &with_authorizer, found);
    } else {
        validations(spec, &declarations, &with_authorizer, found);
    }
}

fn parameter_kind(kind: &Value, found: &mut Vec<FieldError>) {
    let field = "spec.paramKind";
    required(
        text(kind, "/apiVersion"),
        &format!("{field}.apiVersion"),
        found,
    );
    required(text(kind, "/kind"), &format!("{field}.kind"), found);
}

/// The variables that a policy defines, each with its expression if that is right.
fn variables<'a>(
    spec: &'a Value,
    declarations: &Declarations,
    found: &mut Vec<FieldError>,
) -> Vec<(&'a str, Option<Expression>)> {
    let mut declarations = declarations.clone();
    let mut defined = Vec::new();
    let mut known = BTreeSet::new();
    for (field, variable) in indexed(spec, "/variables", "spec.variables") {
        let label = text(variable, "/name");
        let name_field = format!("{field}.name");
        let is_identifier = |text: &str| {
            let mut chars = text.chars();
            chars
                .next()
                .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if label.trim().is_empty() {
            found.push(FieldError::required(name_field, "name is not specified"));
        } else if !is_identifier(label) {
            let detail = "must be a valid CEL identifier";
            found.push(FieldError::invalid(name_field, label, detail));
        } else if !known.insert(label) {
            found.push(FieldError::duplicate(name_field, label.into()));
        }
        let value = at(variable, "/expression");
        let field = format!("{field}.expression");
        let compiled = expression(value, &field, (&declarations, Returns::Anything), found);
        declarations.define(label, compiled.as_ref());
        defined.push((label, compiled));
    }
    defined
}

/// Only messages cannot ask about permissions.
fn validations(
    spec: &Value,
    of_messages: &Declarations,
    declarations: &Declarations,
    found: &mut Vec<FieldError>,
) {
    let detail = "validations or auditAnnotations must contain at least one item";
    if list(spec, "/validations").is_empty() && list(spec, "/auditAnnotations").is_empty() {
        for part in ["validations", "auditAnnotations"] {
            found.push(FieldError::required(format!("spec.{part}"), detail));
        }
        return;
    }
    for (field, validation) in indexed(spec, "/validations", "spec.validations") {
        let value = at(validation, "/expression");
        let wanted = (declarations, Returns::Bool);
        expression(value, &format!("{field}.expression"), wanted, found);
        let plain = text(validation, "/message");
        if plain.trim().contains(['\n', '\r']) {
            let detail = "must not contain line breaks";
            found.push(FieldError::invalid(
                format!("{field}.message"),
                plain,
                detail,
            ));
        }
        let message = at(validation, "/messageExpression");
        let message_field = format!("{field}.messageExpression");
        match message.as_str().unwrap_or_default() {
            "" => {}
            blank if blank.trim().is_empty() => {
                let detail = "must be non-empty if specified";
                found.push(FieldError::invalid(message_field, blank, detail));
            }
            _ => {
                let wanted = (of_messages, Returns::Text);
                expression(message, &message_field, wanted, found);
            }
        }
        let reason = text(validation, "/reason");
        // `Unauthorized` is accepted but not advertised.
        if !["", "Unauthorized"].contains(&reason) {
            let known = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
            supported(reason, &format!("{field}.reason"), &known, found);
        }
    }
    let mut keys = BTreeSet::new();
    for (field, annotation) in indexed(spec, "/auditAnnotations", "spec.auditAnnotations") {
        let key = text(annotation, "/key");
        let key_field = format!("{field}.key");
        if key.is_empty() {
            found.push(FieldError::required(key_field, ""));
        } else {
            name(key, &key_field, names::qualified_name, found);
            if !keys.insert(key) {
                found.push(FieldError::duplicate(key_field, key.into()));
            }
        }
        let value = at(annotation, "/valueExpression");
        let wanted = (declarations, Returns::TextOrNull);
        expression(value, &format!("{field}.valueExpression"), wanted, found);
    }
}

fn mutations(spec: &Value, declarations: &Declarations, found: &mut Vec<FieldError>) {
    if list(spec, "/mutations").is_empty() {
        let detail = "mutations must contain at least one item";
        found.push(FieldError::required("spec.mutations", detail));
    }
    for (field, mutation) in indexed(spec, "/mutations", "spec.mutations") {
        let kind = text(mutation, "/patchType");
        const KINDS: [(&str, &str); 2] = [
            ("ApplyConfiguration", "applyConfiguration"),
            ("JSONPatch", "jsonPatch"),
        ];
        choice(
            kind,
            &format!("{field}.patchType"),
            &KINDS.map(|(kind, _)| kind),
            found,
        );
        for (own, part) in KINDS {
            let body = at(mutation, &format!("/{part}"));
            let field = format!("{field}.{part}");
            match (own == kind, body.is_null()) {
                (true, true) => {
                    let detail = format!("must be specified when patchType is {own}");
                    found.push(FieldError::required(field, detail));
                }
                (true, false) => {
                    let source = text(body, "/expression").trim();
                    let field = format!("{field}.expression");
                    match source {
                        "" => found.push(FieldError::required(field, "")),
                        _ => {
                            let returns = match kind {
                                "JSONPatch" => Returns::Patch,
                                _ => Returns::Object,
                            };
                            let wanted = (declarations, returns);
                            let made = expression(&source.into(), &field, wanted, found);
                            let unknown = made.map(|made| made.unknown_fields(declarations));
                            for name in unknown.into_iter().flatten() {
                                let detail = format!("undefined field '{name}'");
                                found.push(FieldError::invalid(&field, source, detail));
                            }
                        }
                    }
                }
                (false, false) if !kind.is_empty() => {
                    let detail = format!("must not be specified when patchType is {kind}");
                    found.push(FieldError::invalid(field, "{...}", detail));
                }
                _ => {}
            }
        }
    }
    let reinvocation = text(spec, "/reinvocationPolicy");
    choice(
        reinvocation,
        "spec.reinvocationPolicy",
        &REINVOCATIONS,
        found,
    );
}

fn match_resources(resources: &Value, field: &str, found: &mut Vec<FieldError>) {
    let policy = text(resources, "/matchPolicy");
    supported(
        policy,
        &format!("{field}.matchPolicy"),
        &MATCH_POLICIES,
        found,
    );
    selectors(resources, field, found);
    for part in ["resourceRules", "excludeResourceRules"] {
        for (field, rule) in indexed(resources, &format!("/{part}"), &format!("{field}.{part}")) {
            operations(rule, &field, found);
        }
    }
}

/// A ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding.
pub(super) fn policy_binding(object: &Value, mutating: bool, found: &mut Vec<FieldError>) {
    let spec = at(object, "/spec");
    let policy = text(spec, "/policyName");
    if policy.is_empty() {
        found.push(FieldError::required("spec.policyName", ""));
    } else {
        name(policy, "spec.policyName", names::dns_subdomain, found);
    }
    let reference = at(spec, "/paramRef");
    if !reference.is_null() {
        parameter_reference(reference, "spec.paramRef", found);
    }
    let resources = at(spec, "/matchResources");
    if !resources.is_null() {
        match_resources(resources, "spec.matchResources", found);
        if mutating {
            mutated_operations(resources, "spec.matchResources", found);
        }
    }
    if !mutating {
        actions(spec, found);
    }
}

/// A deletion has nothing to mutate.
fn mutated_operations(resources: &Value, field: &str, found: &mut Vec<FieldError>) {
    let field = format!("{field}.resourceRules.operations");
    for rule in list(resources, "/resourceRules") {
        for operation in list(rule, "/operations") {
            let operation = operation.as_str().unwrap_or_default();
            supported(
                operation,
                &field,
                &["*", "CONNECT", "CREATE", "UPDATE"],
                found,
            );
        }
    }
}

fn parameter_reference(reference: &Value, field: &str, found: &mut Vec<FieldError>) {
    let label = text(reference, "/name");
    match (label.is_empty(), at(reference, "/selector").is_null()) {
        (true, true) => found.push(FieldError::required(
            field,
            "one of name or selector must be specified",
        )),
        (false, false) => {
            for part in ["name", "selector"] {
                let detail = "name and selector are mutually exclusive";
                found.push(FieldError::forbidden(format!("{field}.{part}"), detail));
            }
        }
        (false, true) => name(label, &format!("{field}.name"), names::path_segment, found),
        (true, false) => label_selector(
            at(reference, "/selector"),
            &format!("{field}.selector"),
            found,
        ),
    }
    let action = text(reference, "/parameterNotFoundAction");
    let field = format!("{field}.parameterNotFoundAction");
    choice(action, &field, &["Deny", "Allow"], found);
}

fn actions(spec: &Value, found: &mut Vec<FieldError>) {
    let field = "spec.validationActions";
    let actions = list(spec, "/validationActions");
    if actions.is_empty() {
        let detail = "at least one validation action is required";
        return found.push(FieldError::required(field, detail));
    }
    let mut known = BTreeSet::new();
    for (field, action) in indexed(spec, "/validationActions", field) {
        let action = action.as_str().unwrap_or_default();
        supported(action, &field, &["Audit", "Deny", "Warn"], found);
        if !known.insert(action) {
            found.push(FieldError::duplicate(field, action.into()));
        }
    }
    if ["Deny", "Warn"].iter().all(|both| known.contains(both)) {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response \
                      and headers serves no purpose)";
        found.push(FieldError::invalid(field, actions, detail));
    }
}
