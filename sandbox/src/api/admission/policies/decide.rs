use serde_json::Value;

use crate::api::admission::expressions::{BUDGET, Failure, Scope, conditions_hold};
use crate::schema::{CelValue, Returns};

/// The longest result of a `messageExpression`, in bytes.
const LONGEST: usize = 5 * 1024;

/// Why a policy denies a request.
pub(super) struct Denial {
    pub(super) message: String,
    /// The reason of the response; empty for the default.
    pub(super) reason: String,
}

/// Evaluates the validations of a policy. Returns the denials.
pub(super) fn decide(policy: &Value, scope: &mut Scope) -> Vec<Denial> {
    let spec = &policy["spec"];
    let of_error = |message: String| match spec["failurePolicy"] == "Ignore" {
        true => None,
        false => Some(Denial {
            message,
            reason: String::new(),
        }),
    };
    match conditions_hold(spec, scope) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return of_error(why).into_iter().collect(),
    }
    let mut budget = BUDGET;
    let validations = spec["validations"].as_array();
    let validations = validations.map_or(&[][..], Vec::as_slice);
    let results = all(scope, validations, "expression", Returns::Bool, &mut budget);
    let Some(results) = results else {
        let why = Failure::OutOfBudget.to_string();
        return of_error(why).into_iter().collect();
    };
    let messages = all(
        scope,
        validations,
        "messageExpression",
        Returns::Text,
        &mut budget,
    );
    let mut denials = Vec::new();
    for (index, (validation, result)) in validations.iter().zip(results).enumerate() {
        let text = |field: &str| validation[field].as_str().unwrap_or_default();
        let denial = match (result, &messages) {
            (Some(Err(why)), _) => of_error(why.to_string()),
            (_, None) => of_error(format!(
                "failed messageExpression: {}",
                Failure::OutOfBudget
            )),
            (Some(Ok(CelValue::Bool(true))), _) => None,
            (_, Some(messages)) => Some(Denial {
                message: message(validation, messages[index].as_ref()),
                reason: text("reason").into(),
            }),
        };
        denials.extend(denial);
    }
    let annotations = spec["auditAnnotations"].as_array();
    let annotations = annotations.map_or(&[][..], Vec::as_slice);
    let values = all(
        scope,
        annotations,
        "valueExpression",
        Returns::TextOrNull,
        &mut BUDGET.clone(),
    );
    let Some(values) = values else {
        let why = Failure::OutOfBudget.to_string();
        return of_error(why).into_iter().collect();
    };
    for failed in values.into_iter().flatten().filter_map(Result::err) {
        denials.extend(of_error(failed.to_string()));
    }
    denials
}

/// Evaluates one field of each of these objects, if it is there. Returns `None` if that costs too much.
fn all(
    scope: &mut Scope,
    of: &[Value],
    field: &str,
    returns: Returns,
    budget: &mut u64,
) -> Option<Vec<Option<Result<CelValue, Failure>>>> {
    let mut results = Vec::new();
    for one in of {
        let source = one[field].as_str().filter(|source| !source.is_empty());
        let result = source.map(|source| scope.evaluate(source, returns, budget));
        if result == Some(Err(Failure::OutOfBudget)) {
            return None;
        }
        results.push(result);
    }
    Some(results)
}

/// The message of a failed validation.
fn message(validation: &Value, evaluated: Option<&Result<CelValue, Failure>>) -> String {
    let text = |field: &str| validation[field].as_str().unwrap_or_default().trim();
    let evaluated = match evaluated {
        Some(Ok(CelValue::String(text))) => text.trim(),
        _ => "",
    };
    let usable = !evaluated.is_empty() && evaluated.len() <= LONGEST && !evaluated.contains('\n');
    match (usable, text("message")) {
        (true, _) => evaluated.to_owned(),
        (false, "") => format!("failed expression: {}", text("expression")),
        (false, message) => message.to_owned(),
    }
}
