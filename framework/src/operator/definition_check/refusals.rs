use serde_json::Value;

use super::{OwnDefinition, place::Place, unbounded::missing_bounds};
use crate::{
    crd::{self, InstallError},
    operator::{OperatorError, on_sandbox::on_sandbox},
    resource::{Object, RulePlace, StatusCause, StatusDetails},
};

/// Installs the definitions in an API server in this process, as `dev` does, and returns what it refuses.
pub(super) fn refusals(definitions: &[OwnDefinition]) -> Result<Vec<String>, OperatorError> {
    on_sandbox(async |_, client| {
        let mut refused = Vec::new();
        for own in definitions {
            let definition = std::slice::from_ref(&own.definition);
            if let Err(error) = crd::install(client, definition, "crd").await {
                refused.extend(problems(own, &error));
            }
        }
        Ok(refused)
    })
}

/// The problems of the fields of the definition that a server has refused, if it names fields.
pub(super) fn of_fields(definitions: &[OwnDefinition], error: &InstallError) -> Vec<String> {
    let details = details(error);
    let mut definitions = definitions.iter();
    let refused = definitions.find(|own| {
        details.is_some_and(|details| {
            !details.causes.is_empty() && details.name == own.definition.name()
        })
    });
    refused.map_or_else(Vec::new, |own| problems(own, error))
}

fn details(error: &InstallError) -> Option<&StatusDetails> {
    match error {
        InstallError::Client(error) => error.status()?.details.as_ref(),
        _ => None,
    }
}

/// The problems of a refused definition, each with the Rust type and the path of the field.
fn problems(own: &OwnDefinition, error: &InstallError) -> Vec<String> {
    let causes = details(error).map_or(&[][..], |details| &details.causes);
    // A rule that alone costs too much is named a second time as a part of the sum.
    let is_told = |one: &StatusCause| {
        let is_part = |cause: &StatusCause| cause.message.contains("contributed to");
        let same = |cause: &StatusCause| cause.field == one.field && !is_part(cause);
        is_part(one) && causes.iter().any(same)
    };
    let mut problems: Vec<String> = causes
        .iter()
        .filter(|cause| !is_told(cause))
        .map(|cause| match Place::of(&cause.field) {
            Some(place) => problem(own, &place, &cause.message),
            None => format!("{}: {}: {}", own.name(), cause.field, cause.message),
        })
        .collect();
    if problems.is_empty() {
        problems.push(format!("{}: {error}", own.name()));
    }
    problems
}

/// What the server says about a place in a schema, as one line if the text of the server is one.
fn problem(own: &OwnDefinition, place: &Place<'_>, message: &str) -> String {
    let path = place.path();
    let version = own.definition.spec.versions.get(place.version);
    // Places in the source are known for the stored version only.
    let is_stored = version.is_some_and(|version| version.storage);
    let is_source =
        |one: &&RulePlace| is_stored && one.path == path && place.rule() == Some(one.rule);
    let source = own.places.iter().find(is_source);
    let name = match version {
        Some(version) if !is_stored => format!("{} in {}", own.name(), version.name),
        _ => own.name(),
    };
    let schema = version.and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
    let schema = schema.and_then(|schema| serde_json::to_value(schema).ok());
    let text = with_advice(&schema.unwrap_or_default(), place, message);
    let source = source.map_or("", |place| &place.source);
    [source, &name, &path, place.keyword, &text]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(": ")
}

/// The text of the server, with the rule and what makes it cheaper instead of general advice, if it says that a rule costs too much.
fn with_advice(schema: &Value, place: &Place<'_>, message: &str) -> String {
    // The server shows the rule as an object of its own.
    if let Some((_, reason)) = message.split_once("}: compilation failed: ")
        && let Some(rule) = place.rule()
    {
        let expression = expression(schema, place, rule);
        return format!("`{expression}` does not compile: {reason}");
    }
    if !message.contains(" cost ") {
        return message.to_owned();
    }
    let message = message.split(" (try ").next().unwrap_or(message);
    let Some(rule) = place.rule() else {
        return format!("{message}: add the bounds that the rules lack, or simplify the rules");
    };
    let expression = expression(schema, place, rule);
    let bounds = match missing_bounds(schema, place, &expression) {
        bounds if bounds.is_empty() => "lower the bounds of what it reads".to_owned(),
        bounds => format!("add {bounds}"),
    };
    format!("{message}: `{expression}`: {bounds}, or simplify the expression")
}

/// The text of a rule, or of its message.
fn expression(schema: &Value, place: &Place<'_>, rule: usize) -> String {
    let rule = &place.schema(schema)["x-kubernetes-validations"][rule];
    let part = match place.keyword.ends_with(".messageExpression") {
        true => "messageExpression",
        false => "rule",
    };
    rule[part].as_str().unwrap_or_default().to_owned()
}
