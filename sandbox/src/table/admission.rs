use serde_json::{Value, json};

use super::cells::{age, count, text};
use super::printer::Printer;

pub(super) const WEBHOOKS: Printer = Printer {
    named: true,
    columns: &[("Webhooks", "integer", 0), ("Age", "string", 0)],
    cells: |object, now| vec![json!(count(object, "/webhooks")), age(object, now)],
};

pub(super) const VALIDATING_POLICIES: Printer = Printer {
    named: true,
    columns: &[
        ("Validations", "integer", 0),
        ("ParamKind", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        vec![
            json!(count(object, "/spec/validations")),
            parameter_kind(object).into(),
            age(object, now),
        ]
    },
};

pub(super) const MUTATING_POLICIES: Printer = Printer {
    named: true,
    columns: &[
        ("Mutations", "integer", 0),
        ("ParamKind", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        vec![
            json!(count(object, "/spec/mutations")),
            parameter_kind(object).into(),
            age(object, now),
        ]
    },
};

pub(super) const BINDINGS: Printer = Printer {
    named: true,
    columns: &[
        ("PolicyName", "string", 0),
        ("ParamRef", "string", 0),
        ("Age", "string", 0),
    ],
    cells: |object, now| {
        vec![
            text(object, "/spec/policyName").into(),
            parameters(object).into(),
            age(object, now),
        ]
    },
};

const UNSET: &str = "<unset>";

fn parameter_kind(policy: &Value) -> String {
    let Some(kind) = policy.pointer("/spec/paramKind") else {
        return UNSET.into();
    };
    format!("{}/{}", text(kind, "/apiVersion"), text(kind, "/kind"))
}

fn parameters(binding: &Value) -> String {
    let Some(reference) = binding.pointer("/spec/paramRef") else {
        return UNSET.into();
    };
    match (text(reference, "/name"), text(reference, "/namespace")) {
        ("", _) => reference.get("selector").map_or(UNSET.into(), selector),
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    }
}

/// A selector as Go prints it.
fn selector(selector: &Value) -> String {
    let pairs = selector.get("matchLabels").and_then(Value::as_object);
    let pairs: String = pairs
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()))
        .collect();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let expressions: String = expressions
        .into_iter()
        .flatten()
        .map(|expression| {
            let values = expression.get("values").and_then(Value::as_array);
            let values: Vec<&str> = values
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            format!(
                "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                text(expression, "/key"),
                text(expression, "/operator"),
                values.join(" ")
            )
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
