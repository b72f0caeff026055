use serde_json::Value;

use crate::api::admission::webhooks::Inputs;
use crate::schema::{CelValue, cel_map};

/// The inputs of a policy's expressions together with its own variables.
pub(super) struct Variables {
    inputs: Inputs,
    /// The variables that cannot be evaluated, with the reasons. They matter only to expressions that use them.
    failed: Vec<(String, String)>,
}

impl Variables {
    /// Evaluates the variables of a policy in their order. Each may use those before it.
    pub(super) fn new(policy: &Value, inputs: Inputs) -> Self {
        let mut variables = Self {
            inputs,
            failed: Vec::new(),
        };
        let mut known: Vec<(String, CelValue)> = Vec::new();
        variables.inputs.set("variables", cel_map(&known));
        for variable in policy["spec"]["variables"].as_array().into_iter().flatten() {
            let text = |field: &str| variable[field].as_str().unwrap_or_default();
            match variables.evaluate(text("expression")) {
                Ok(value) => known.push((text("name").into(), value)),
                Err(why) => {
                    let prefix = format!("expression '{}' resulted in error: ", text("expression"));
                    let why = why.strip_prefix(&prefix).unwrap_or(&why).to_owned();
                    variables.failed.push((text("name").into(), why));
                }
            }
            variables.inputs.set("variables", cel_map(&known));
        }
        variables
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// The text of a real server.
    pub(super) fn evaluate(&self, source: &str) -> Result<CelValue, String> {
        self.inputs.evaluate(source).map_err(|why| {
            let of_variable = self.failed.iter().find(|(name, _)| {
                why.ends_with(&format!("no such key: {name}"))
                    && source.contains(&format!("variables.{name}"))
            });
            match of_variable {
                Some((name, why)) => format!(
                    "expression '{source}' resulted in error: composited variable {name:?} fails to evaluate: {why}"
                ),
                None => why,
            }
        })
    }

    pub(super) fn inputs(&self) -> &Inputs {
        &self.inputs
    }
}
