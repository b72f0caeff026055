use serde_json::Value;

use super::variables::Variables;
use crate::api::admission::webhooks::conditions_hold;
use crate::schema::CelValue;

/// The longest result of a `messageExpression`, in bytes.
const LONGEST: usize = 5 * 1024;

/// Why a policy denies a request.
pub(super) struct Denial {
    pub(super) message: String,
    /// The reason of the response; empty for the default.
    pub(super) reason: String,
}

/// Evaluates the validations of a policy. Returns the denials.
pub(super) fn decide(policy: &Value, variables: &Variables) -> Vec<Denial> {
    let spec = &policy["spec"];
    let of_error = |message: String| match spec["failurePolicy"] == "Ignore" {
        true => None,
        false => Some(Denial {
            message,
            reason: String::new(),
        }),
    };
    match conditions_hold(spec, variables.inputs()) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return of_error(why).into_iter().collect(),
    }
    let validations = spec["validations"].as_array().into_iter().flatten();
    let denials = validations.filter_map(|validation| {
        let text = |field: &str| validation[field].as_str().unwrap_or_default();
        match variables.evaluate(text("expression")) {
            Ok(CelValue::Bool(true)) => None,
            Ok(_) => Some(Denial {
                message: message(validation, variables),
                reason: text("reason").into(),
            }),
            Err(why) => of_error(why),
        }
    });
    let mut denials: Vec<Denial> = denials.collect();
    for annotation in spec["auditAnnotations"].as_array().into_iter().flatten() {
        let source = annotation["valueExpression"].as_str().unwrap_or_default();
        match variables.evaluate(source) {
            Ok(CelValue::String(_) | CelValue::Null) => {}
            Ok(_) => denials.extend(of_error(format!(
                "valueExpression '{source}' resulted in unsupported return type. Return type must be either string or null."
            ))),
            Err(why) => denials.extend(of_error(why)),
        }
    }
    denials
}

/// The message of a failed validation.
fn message(validation: &Value, variables: &Variables) -> String {
    let text = |field: &str| validation[field].as_str().unwrap_or_default().trim();
    let evaluated = match text("messageExpression") {
        "" => None,
        source => match variables.evaluate(source) {
            Ok(CelValue::String(text)) => Some(text.trim().to_owned()),
            _ => None,
        },
    };
    let usable = |text: &String| !text.is_empty() && text.len() <= LONGEST && !text.contains('\n');
    match (evaluated.filter(usable), text("message")) {
        (Some(message), _) => message,
        (None, "") => format!("failed expression: {}", text("expression")),
        (None, message) => message.to_owned(),
    }
}
