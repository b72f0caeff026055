use std::collections::BTreeSet;

use serde_json::Value;

use super::admission::{
    FAILURE_POLICIES, MATCH_POLICIES, REINVOCATIONS, conditions, expression, operations, selectors,
};
use super::fields::{at, choice, indexed, list, name, required, supported, text};
use super::selector::label_selector;
use crate::names;
use crate::schema::{Declarations, Expression, FieldError, Returns};

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
        return found.push(FieldError::required(field, ""));
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
