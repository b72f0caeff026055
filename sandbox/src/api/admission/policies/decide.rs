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

/// What a policy says of a request.
#[derive(Default)]
pub(super) struct Decision {
    /// The denials, each with the index of its validation.
    pub(super) denials: Vec<(usize, Denial)>,
    /// The annotations for the audit log.
    pub(super) annotations: Vec<(String, String)>,
    /// Why annotations could not be evaluated.
    pub(super) failed_annotations: Vec<String>,
}

/// Evaluates the validations and the audit annotations of a policy.
pub(super) fn decide(policy: &Value, mut scope: Scope<'_>) -> Decision {
    let spec = &policy["spec"];
    let fails = spec["failurePolicy"] != "Ignore";
    let of_error = |message: String| {
        fails.then_some(Denial {
            message,
            reason: String::new(),
        })
    };
    let only = |message: String| Decision {
        denials: of_error(message)
            .map(|denial| (0, denial))
            .into_iter()
            .collect(),
        ..Decision::default()
    };
    match conditions_hold(spec, &mut scope) {
        Ok(true) => {}
        Ok(false) => return Decision::default(),
        Err(why) => return only(why),
    }
    let scope = &mut scope.with_matched();
    let mut budget = BUDGET;
    let validations = spec["validations"].as_array();
    let validations = validations.map_or(&[][..], Vec::as_slice);
    let results = all(scope, validations, "expression", Returns::Bool, &mut budget);
    let Some(results) = results else {
        return only(Failure::OutOfBudget.to_string());
    };
    let messages = all(
        scope,
        validations,
        "messageExpression",
        Returns::Text,
        &mut budget,
    );
    let mut decision = Decision::default();
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
        decision
            .denials
            .extend(denial.map(|denial| (index, denial)));
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
        return only(Failure::OutOfBudget.to_string());
    };
    for (annotation, value) in annotations.iter().zip(values) {
        match value {
            Some(Ok(CelValue::String(value))) if !value.trim().is_empty() => {
                let key = annotation["key"].as_str().unwrap_or_default();
                let value = value.trim();
                decision.annotations.push((key.into(), value.into()));
            }
            Some(Err(why)) if fails => decision.failed_annotations.push(why.to_string()),
            _ => {}
        }
    }
    decision
}

/// Evaluates one field of each of these objects, if it is there. Returns `None` if that costs too much.
fn all(
    scope: &mut Scope<'_>,
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
