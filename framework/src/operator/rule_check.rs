//! What an API server says of the expressions of admission rules, before they are printed or installed.

use std::collections::BTreeMap;

use pilothouse_sandbox::Sandbox;
use serde_json::Value;

use super::{OperatorError, admission::own_definition, on_sandbox::on_sandbox};
use crate::{
    admission::{self, AdmissionRule},
    client::{Client, Error},
    crd,
};

/// Checks rules on an API server in this process: it compiles their expressions, and knows the types of the objects whose kinds are built in
/// or defined by the operator.
///
/// # Errors
/// [`OperatorError::RefusedRules`] with each problem, and that of a definition.
pub(crate) fn check(rules: &[AdmissionRule]) -> Result<(), OperatorError> {
    if rules.is_empty() {
        return Ok(());
    }
    let problems = on_sandbox(async |sandbox, client| {
        let mut problems = Vec::new();
        for rule in rules {
            for problem in of_rule(sandbox, client, rule).await? {
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
        Ok(problems)
    })?;
    match problems.is_empty() {
        true => Ok(()),
        false => Err(OperatorError::RefusedRules(problems)),
    }
}

async fn of_rule(
    sandbox: &Sandbox,
    client: &Client,
    rule: &AdmissionRule,
) -> Result<Vec<String>, OperatorError> {
    if let Err(problem) = rule.check_settings() {
        return Ok(vec![format!("{}: {}: {problem}", rule.place, rule.shown())]);
    }
    let params = rule.params.iter().map(|(kind, _)| kind);
    for kind in std::iter::once(&rule.kind).chain(params) {
        if let Some(own) = own_definition(kind)? {
            let mut definition = own.definition;
            // The check creates no object, so nothing is converted.
            definition.spec.conversion = None;
            crd::install(client, &[definition], "rules").await?;
        }
    }
    let mut problems = Vec::new();
    let one = std::slice::from_ref(rule);
    for policy in admission::policies(one, "rules", &BTreeMap::new(), &Default::default()) {
        // A field of an expression has one problem: the one that knows the types is more precise.
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        let created = admission::install(client, "rules", std::slice::from_ref(&policy)).await;
        if let Err((_, error)) = created {
            found.extend(causes(&error)?);
        }
        let typed = sandbox.check_expressions(&policy).into_iter();
        found.extend(typed.map(|one| (one.field, format!("{} ({})", one.warning, one.kind))));
        problems.extend(
            found
                .iter()
                .map(|(field, text)| problem(rule, &policy, field, text)),
        );
    }
    Ok(problems)
}

/// The fields that a server does not accept.
fn causes(error: &Error) -> Result<Vec<(String, String)>, OperatorError> {
    let details = error.status().and_then(|status| status.details.as_ref());
    let causes = details.map_or(&[][..], |details| &details.causes);
    if causes.is_empty() {
        let text = error.to_string();
        return Err(OperatorError::RefusedRules(vec![text]));
    }
    let causes = causes.iter();
    Ok(causes
        .map(|cause| (cause.field.clone(), cause.message.clone()))
        .collect())
}

/// A problem of a field, with the place in the source, the expression and what to do.
fn problem(rule: &AdmissionRule, policy: &Value, field: &str, text: &str) -> String {
    let Some((what, expression)) = rule.expression_at(field) else {
        let kind = policy["kind"].as_str().unwrap_or_default();
        return format!(
            "{}: {}: {field} of the {kind}: {text}",
            rule.place,
            rule.shown()
        );
    };
    let reason = match text.split_once("compilation failed: ") {
        Some((_, reason)) => reason,
        None => text,
    };
    let advice = advice(reason).map_or(String::new(), |advice| format!(": {advice}"));
    format!(
        "{}: {}: {what}, `{}`, does not compile: {}{advice}",
        expression.place,
        rule.shown(),
        expression.text,
        reason.replace('\n', "\n  "),
    )
}

/// What to do about a reason of the compiler, if it is a frequent one.
fn advice(reason: &str) -> Option<&'static str> {
    let frequent = [
        (
            "undeclared reference to 'params'",
            "name the kind of the parameters with `params`",
        ),
        (
            "undeclared reference to 'authorizer'",
            "a message cannot ask the authorizer: use a variable in the check, and the fixed text",
        ),
        (
            "undeclared reference to 'self'",
            "write `object`; `self` is for rules in the schema",
        ),
        (
            "undeclared reference to 'oldSelf'",
            "write `oldObject`; `oldSelf` is for rules in the schema",
        ),
        (
            "undeclared reference to 'variables'",
            "define it with `variable`; a condition cannot use variables",
        ),
    ];
    let mut frequent = frequent.into_iter();
    let found = frequent.find(|(text, _)| reason.contains(text));
    found.map(|(_, advice)| advice)
}
