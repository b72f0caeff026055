use serde_json::{Map, Value};

use super::fields::{list, text};
use super::part::Part;
use crate::names;
use crate::schema::FieldError;

/// Whether a LabelSelector selects everything.
pub(super) fn is_empty(selector: &Value) -> bool {
    let labels = selector["matchLabels"].as_object();
    labels.is_none_or(|labels| labels.is_empty()) && list(selector, "/matchExpressions").is_empty()
}

/// Refuses a template whose Pods the selector does not select. A selector that is not valid is judged elsewhere.
pub(super) fn selects_template(selector: &Value, template: &Part, found: &mut Vec<FieldError>) {
    let labels = template.get("metadata").get("labels");
    // A missing selector selects nothing, an empty one selects everything.
    if is_usable(selector) && (selector.is_null() || !selects(selector, labels.value)) {
        labels.invalid("`selector` does not match template `labels`", found);
    }
}

const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];

/// Whether the selector is valid.
pub(super) fn is_usable(selector: &Value) -> bool {
    let mut errors = Vec::new();
    label_selector(selector, "", &mut errors);
    errors.is_empty()
}

/// Validates a LabelSelector.
pub(super) fn label_selector(selector: &Value, field: &str, found: &mut Vec<FieldError>) {
    let labels = selector["matchLabels"].as_object();
    labels_are_valid(labels, &format!("{field}.matchLabels"), found);
    let expressions = list(selector, "/matchExpressions").iter().enumerate();
    for (index, expression) in expressions {
        let field = format!("{field}.matchExpressions[{index}]");
        let values = list(expression, "/values");
        match text(expression, "/operator") {
            "In" | "NotIn" if values.is_empty() => found.push(FieldError::required(
                format!("{field}.values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => found.push(FieldError::forbidden(
                format!("{field}.values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            operator if OPERATORS.contains(&operator) => {}
            operator => {
                let detail = "not a valid selector operator";
                let field = format!("{field}.operator");
                found.push(FieldError::invalid(field, operator, detail));
            }
        }
        let key = text(expression, "/key");
        for wrong in names::qualified_name(key) {
            found.push(FieldError::invalid(format!("{field}.key"), key, wrong));
        }
        for (index, value) in values.iter().enumerate() {
            for wrong in names::label_value(value.as_str().unwrap_or_default()) {
                let field = format!("{field}.values[{index}]");
                found.push(FieldError::invalid(field, value.clone(), wrong));
            }
        }
    }
}

pub(super) fn labels_are_valid(
    labels: Option<&Map<String, Value>>,
    field: &str,
    found: &mut Vec<FieldError>,
) {
    for (key, value) in labels.into_iter().flatten() {
        for wrong in names::qualified_name(key) {
            found.push(FieldError::invalid(field, key.as_str(), wrong));
        }
        for wrong in names::label_value(value.as_str().unwrap_or_default()) {
            found.push(FieldError::invalid(field, value.clone(), wrong));
        }
    }
}

/// Whether a LabelSelector selects these labels.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    let wanted = selector["matchLabels"].as_object();
    let equal = wanted
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    equal
        && list(selector, "/matchExpressions")
            .iter()
            .all(|expression| {
                let found = labels.get(text(expression, "/key"));
                let listed = found.is_some_and(|value| list(expression, "/values").contains(value));
                match text(expression, "/operator") {
                    "In" => listed,
                    "NotIn" => !listed,
                    "Exists" => found.is_some(),
                    "DoesNotExist" => found.is_none(),
                    _ => false,
                }
            })
}
