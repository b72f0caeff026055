//! Answers without what cannot be equal on two servers, and their differences.

use std::{fmt, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

use crate::run::Answer;

static UID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap()
});
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z").unwrap()
});
/// Resource versions in messages.
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)((?:resource ?version|precondition|object meta|, current)[^0-9]{0,24})[0-9]+")
        .unwrap()
});
static AGE: LazyLock<Regex> = LazyLock::new(|| Regex::new("^[0-9]+(ms|s|m)$").unwrap());

/// Something that two servers do not agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The scenario and its step.
    pub(crate) step: String,
    /// Where in the answer.
    pub(crate) at: String,
    pub(crate) sandbox: String,
    pub(crate) real: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            step,
            at,
            sandbox,
            real,
        } = self;
        write!(
            f,
            "{step} {at}\n    sandbox: {sandbox}\n    real:    {real}"
        )
    }
}

/// Where the answers to the same steps differ.
pub(crate) fn differences(scenario: &str, sandbox: &[Answer], real: &[Answer]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (sandbox, real) in sandbox.iter().zip(real) {
        assert_eq!(sandbox.step, real.step, "the steps of {scenario} diverged");
        let step = format!("{scenario}: {}", sandbox.step);
        compare(
            &step,
            "",
            &Some(whole(sandbox)),
            &Some(whole(real)),
            &mut found,
        );
    }
    if sandbox.len() != real.len() {
        found.push(Difference {
            step: format!("{scenario}: number of steps"),
            at: String::new(),
            sandbox: sandbox.len().to_string(),
            real: real.len().to_string(),
        });
    }
    found
}

fn whole(answer: &Answer) -> Value {
    let mut body = answer.body.clone();
    normalise(&mut body, "");
    let mut warnings = Value::from(answer.warnings.clone());
    normalise(&mut warnings, "");
    serde_json::json!({
        "code": answer.code, "warnings": warnings, "contentType": answer.content_type, "body": body,
    })
}

fn normalise(value: &mut Value, key: &str) {
    match value {
        Value::Object(object) => normalise_object(object),
        Value::Array(values) => {
            for value in values.iter_mut() {
                normalise(value, key);
            }
            if key == "managedFields" {
                values.sort_by_key(|entry| {
                    ["manager", "operation", "subresource", "apiVersion"]
                        .map(|key| entry[key].to_string())
                });
            }
        }
        Value::String(text) => {
            if matches!(key, "resourceVersion" | "continue") && !text.is_empty() && text != "0" {
                *text = format!("<{key}>");
            } else if key == "cells" && AGE.is_match(text) {
                *text = "<age>".into();
            } else {
                let replaced = UID.replace_all(text, "<uid>");
                let replaced = TIME.replace_all(&replaced, "<time>");
                *text = VERSION.replace_all(&replaced, "${1}<version>").into_owned();
            }
        }
        _ => {}
    }
}

fn normalise_object(object: &mut Map<String, Value>) {
    for (key, mut value) in std::mem::take(object) {
        normalise(&mut value, &key);
        object.insert(UID.replace_all(&key, "<uid>").into_owned(), value);
    }
}

fn compare(
    step: &str,
    at: &str,
    sandbox: &Option<Value>,
    real: &Option<Value>,
    found: &mut Vec<Difference>,
) {
    match (sandbox, real) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let inner = format!("{at}/{key}");
                compare(
                    step,
                    &inner,
                    &left.get(key).cloned(),
                    &right.get(key).cloned(),
                    found,
                );
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                let inner = format!("{at}/{index}");
                compare(
                    step,
                    &inner,
                    &Some(left.clone()),
                    &Some(right.clone()),
                    found,
                );
            }
        }
        (left, right) if left == right => {}
        (left, right) => found.push(Difference {
            step: step.into(),
            at: at.into(),
            sandbox: shown(left),
            real: shown(right),
        }),
    }
}

fn shown(value: &Option<Value>) -> String {
    const LONGEST: usize = 1500;
    let mut text = value.as_ref().map_or("-".into(), Value::to_string);
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}
