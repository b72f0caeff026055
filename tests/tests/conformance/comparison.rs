//! Normalises what cannot be equal on two servers, and compares the answers.

use std::{fmt, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

use crate::{cases, run::Answer};

static UID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap()
});
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z").unwrap()
});
/// Resource versions in messages.
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)((?:resource ?version|decodable revision|precondition|object meta|, current)[^0-9]{0,24})[0-9]+")
        .unwrap()
});
/// The user agent of the test, which contains the name of its program.
static AGENT: LazyLock<Regex> = LazyLock::new(|| Regex::new("conformance-[0-9a-f]{16}").unwrap());
static AGE: LazyLock<Regex> = LazyLock::new(|| Regex::new("^[0-9]+(ms|s|m)$").unwrap());

/// Addresses of Services.
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b10\.(9[6-9]|10[0-9]|11[01])\.[0-9]+\.[0-9]+\b").unwrap());
/// Names generated from a prefix in the scenarios.
static GENERATED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bA_[a-z0-9]{5}\b").unwrap());

/// The program of the real server of the tests.
const CLUSTER: &str = "cluster";

/// A difference between two servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The scenario and its step.
    pub(crate) step: String,
    /// The path in the answer.
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

/// Returns the differences between the answers to the same steps, each with its case.
///
/// # Errors
/// The servers did not take the same steps.
pub(crate) fn differences(
    scenario: &str,
    sandbox: &[Answer],
    real: &[Answer],
) -> Result<Vec<(String, Difference)>, String> {
    let steps = |answers: &[Answer]| -> Vec<String> {
        answers.iter().map(|answer| answer.step.clone()).collect()
    };
    let (ours, theirs) = (steps(sandbox), steps(real));
    if ours != theirs {
        return Err(format!(
            "the steps diverge: {ours:?} on the sandbox, {theirs:?} on the real server"
        ));
    }
    let mut found = Vec::new();
    for (sandbox, real) in sandbox.iter().zip(real) {
        let step = format!("{scenario}: {}", sandbox.step);
        let mut here = Vec::new();
        compare(
            &step,
            "",
            &Some(whole(sandbox)),
            &Some(whole(real)),
            &mut here,
        );
        let case = cases::of_step(scenario, &sandbox.step);
        found.extend(
            here.into_iter()
                .map(|difference| (case.clone(), difference)),
        );
    }
    Ok(found)
}

fn whole(answer: &Answer) -> Value {
    let mut body = answer.body.clone();
    if let Some(lines) = body.as_str().and_then(json_lines) {
        body = lines;
    } else if is_event(&body) {
        // A watch with one event. Another server may have sent a bookmark, too.
        body = vec![body].into();
    }
    normalise(&mut body, "");
    let mut warnings = Value::from(answer.warnings.clone());
    normalise(&mut warnings, "");
    serde_json::json!({
        "code": answer.code, "warnings": warnings, "contentType": answer.content_type, "body": body,
    })
}

/// Parses a text with one value per line, such as a watch.
fn json_lines(text: &str) -> Option<Value> {
    let lines = text.lines().map(serde_json::from_str);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().ok()?;
    (lines.len() > 1).then(|| lines.into())
}

/// Sorts the causes of a failure and removes duplicates. A real server lists them in the order in which it visits the fields,
/// which varies, and repeats a cause for each check of the same rule.
fn sort_causes(status: &mut Map<String, Value>) {
    let Some(causes) = status
        .get_mut("details")
        .and_then(|details| details.get_mut("causes"))
    else {
        return;
    };
    let Some(causes) = causes.as_array_mut() else {
        return;
    };
    causes.sort_by_key(Value::to_string);
    causes.dedup();
    let texts: Vec<String> = causes
        .iter()
        .map(|cause| {
            let text = |field: &str| cause[field].as_str().unwrap_or_default();
            format!("{}: {}", text("field"), text("message"))
        })
        .collect();
    let Some(Value::String(message)) = status.get_mut("message") else {
        return;
    };
    if texts.len() > 1
        && texts.iter().all(|text| message.contains(text))
        && let Some((start, _)) = message.split_once(" is invalid: ")
    {
        *message = format!("{start} is invalid: [{}]", texts.join(", "));
    }
}

/// Sorts the fields of objects that a message shows, as JSON or as text, because the Go types of a real server have another
/// order.
fn sort_shown(text: &str) -> Option<String> {
    const BEFORE: &str = "Invalid value: ";
    let places = text.match_indices(BEFORE).map(|(at, _)| at + BEFORE.len());
    let mut shown = places.filter_map(|at| {
        let rest = &text[at..];
        if !["{", "[{", "\"{"]
            .iter()
            .any(|start| rest.starts_with(start))
        {
            return None;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let end = at + values.byte_offset();
        Some((at, end, value))
    });
    let (at, end, value) = shown.next()?;
    let mut value = match &value {
        Value::String(text) => serde_json::from_str(text).ok()?,
        _ => value,
    };
    normalise(&mut value, "");
    Some(format!("{}{value}{}", &text[..at], &text[end..]))
}

fn normalise(value: &mut Value, key: &str) {
    match value {
        Value::Object(object) => normalise_object(object),
        Value::Array(values) => {
            for value in values.iter_mut() {
                normalise(value, key);
            }
            values.retain(|value| !is_plain_bookmark(value));
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
            } else if key == "manager" && text == CLUSTER {
                // The API server writes objects itself, under the name of its program.
                *text = "kube-apiserver".into();
            } else if key == "cells" && AGE.is_match(text) {
                *text = "<age>".into();
            } else {
                if let Some(sorted) = sort_shown(text) {
                    *text = sorted;
                }
                let replaced = UID.replace_all(text, "<uid>");
                let replaced = TIME.replace_all(&replaced, "<time>");
                let replaced = ADDRESS.replace_all(&replaced, "<address>");
                let replaced = GENERATED.replace_all(&replaced, "<generated>");
                let replaced = AGENT.replace_all(&replaced, "conformance");
                *text = VERSION.replace_all(&replaced, "${1}<version>").into_owned();
            }
        }
        _ => {}
    }
}

/// Whether a body is a single event of a watch.
fn is_event(body: &Value) -> bool {
    let fields = body.as_object();
    fields.is_some_and(|fields| {
        fields.len() == 2 && fields.contains_key("type") && fields.contains_key("object")
    })
}

/// Whether an event is a plain bookmark. The server's clock and load decide whether a watch gets one.
fn is_plain_bookmark(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && event["object"]["metadata"]["annotations"].is_null()
}

fn normalise_object(object: &mut Map<String, Value>) {
    if object.get("kind") == Some(&Value::from("Status")) {
        sort_causes(object);
    }
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
    const LONGEST: usize = 6000;
    let mut text = value.as_ref().map_or("-".into(), Value::to_string);
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}
