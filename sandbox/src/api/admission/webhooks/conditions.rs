use serde_json::Value;

use super::review;
use crate::api::admission::attributes::Attributes;
use crate::core::Core;
use crate::schema::{CelValue, Expression, to_cel};

/// The variables of an expression about a request.
#[derive(Clone)]
pub(in crate::api::admission) struct Inputs(Vec<(&'static str, CelValue)>);

impl Inputs {
    pub(in crate::api::admission) fn new(
        core: &Core,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Self {
        let seen = |object: Option<&Value>| object.map_or(CelValue::Null, to_cel);
        let request = review::request(core, attributes, &attributes.target.kind);
        Self(vec![
            ("object", seen(object)),
            ("oldObject", seen(old)),
            ("request", to_cel(&request)),
        ])
    }

    /// Sets one more variable.
    pub(in crate::api::admission) fn set(&mut self, name: &'static str, value: CelValue) {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, value));
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// The text of a real server.
    pub(in crate::api::admission) fn evaluate(&self, source: &str) -> Result<CelValue, String> {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| *name).collect();
        let expression = Expression::compile(source, &names)?;
        let result = expression.evaluate(&self.0);
        result.map_err(|why| format!("expression '{source}' resulted in error: {why}"))
    }
}

/// Whether all match conditions of a webhook or policy hold. One that is false decides, also if others fail.
///
/// # Errors
/// The text of the error if an expression fails and the failure policy is not to ignore it.
pub(in crate::api::admission) fn conditions_hold(
    spec: &Value,
    inputs: &Inputs,
) -> Result<bool, String> {
    let conditions = spec["matchConditions"].as_array().into_iter().flatten();
    let mut failed = Vec::new();
    for condition in conditions {
        let source = condition["expression"].as_str().unwrap_or_default();
        match inputs.evaluate(source) {
            Ok(CelValue::Bool(false)) => return Ok(false),
            Ok(_) => {}
            Err(why) => failed.push(why),
        }
    }
    if failed.is_empty() {
        return Ok(true);
    }
    if spec["failurePolicy"] == "Ignore" {
        return Ok(false);
    }
    Err(match failed.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    })
}
