use serde_json::Value;

use super::scope::{Failure, Scope};
use crate::schema::{CelValue, Returns};

/// What the match conditions of a webhook or policy may cost together.
const BUDGET: u64 = 2_500_000;

/// Whether all match conditions of a webhook or policy hold. One that is false decides, also if others fail.
///
/// # Errors
/// The text of the error if an expression fails and the failure policy is not to ignore it.
pub(in crate::api::admission) fn conditions_hold(
    spec: &Value,
    scope: &mut Scope<'_>,
) -> Result<bool, String> {
    let conditions = spec["matchConditions"].as_array().into_iter().flatten();
    let mut budget = BUDGET;
    let mut results = Vec::new();
    for condition in conditions {
        let source = condition["expression"].as_str().unwrap_or_default();
        let result = scope.evaluate(source, Returns::Bool, &mut budget);
        // Nothing is known then about the conditions before it either.
        if result == Err(Failure::OutOfBudget) {
            results = vec![result];
            break;
        }
        results.push(result);
    }
    if results.contains(&Ok(CelValue::Bool(false))) {
        return Ok(false);
    }
    let failed: Vec<String> = results
        .into_iter()
        .filter_map(|result| Some(result.err()?.to_string()))
        .collect();
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
