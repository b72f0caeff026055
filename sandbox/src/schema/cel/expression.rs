use std::collections::HashMap;

use cel::{Context, Program, Value};
use serde_json::Value as Json;

use super::compile::{compile_with_variables, env};
use crate::schema::rule_values::convert;
use crate::stack;

/// A compiled expression over named variables, for the rules of admission.
pub(crate) struct Expression(Program);

impl Expression {
    /// Compiles an expression over these variables.
    ///
    /// # Errors
    /// The text of the error: the source is too long or too deep, or does not parse, or has an unknown name.
    pub(crate) fn compile(source: &str, variables: &[&str]) -> Result<Self, String> {
        compile_with_variables(source, variables).map(Self)
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// The text of the error.
    pub(crate) fn evaluate(&self, variables: &[(&str, Value)]) -> Result<Value, String> {
        let mut context = Context::with_env(env().clone());
        for (name, value) in variables {
            context.add_variable_from_value(*name, value.clone());
        }
        let result = stack::large(|| self.0.execute(&context));
        result.map_err(|error| {
            let text = error.to_string();
            // Go's texts begin with a small letter.
            match text.strip_prefix("No such key") {
                Some(rest) => format!("no such key{rest}"),
                None => text,
            }
        })
    }
}

/// A JSON value in CEL, by its own types.
pub(crate) fn to_cel(json: &Json) -> Value {
    stack::large(|| convert(None, json))
}

/// A map of CEL values.
pub(crate) fn cel_map(entries: &[(String, Value)]) -> Value {
    let map: HashMap<String, Value> = entries.iter().cloned().collect();
    map.into()
}

/// Whether an expression uses a variable. One that does not parse uses none.
pub(crate) fn uses_variable(source: &str, variable: &str) -> bool {
    let parsed = compile_with_variables(
        source,
        &[
            variable,
            "object",
            "oldObject",
            "request",
            "params",
            "namespaceObject",
            "variables",
        ],
    );
    parsed.is_ok_and(|program| program.references().has_variable(variable))
}
