use serde_json::{Value, json};

use super::cells::{NONE, UNKNOWN, age, items, number, text};
use super::printer::Printer;
use crate::builtin::autoscaler_to_stored;

const COLUMNS: &[(&str, &str, i32)] = &[
    ("Reference", "string", 0),
    ("Targets", "string", 0),
    ("MinPods", "string", 0),
    ("MaxPods", "string", 0),
    ("Replicas", "string", 0),
    ("Age", "string", 0),
];

pub(super) const AUTOSCALERS: Printer = Printer {
    named: true,
    columns: COLUMNS,
    cells: |object, now| {
        let target = "/spec/scaleTargetRef";
        let reference = format!(
            "{}/{}",
            text(object, &format!("{target}/kind")),
            text(object, &format!("{target}/name"))
        );
        vec![
            reference.into(),
            metrics(object).into(),
            minimum(object).into(),
            json!(number(object, "/spec/maxReplicas")),
            json!(number(object, "/status/currentReplicas")),
            age(object, now),
        ]
    },
};

/// The first version shows the metrics of the second.
pub(super) const OLD_AUTOSCALERS: Printer = Printer {
    named: true,
    columns: COLUMNS,
    cells: |object, now| (AUTOSCALERS.cells)(&autoscaler_to_stored(object), now),
};

fn minimum(object: &Value) -> String {
    match object.pointer("/spec/minReplicas") {
        Some(minimum) => minimum.to_string(),
        None => "<unset>".into(),
    }
}

/// How many metrics are shown.
const SHOWN: usize = 2;

fn metrics(object: &Value) -> String {
    let wanted = items(object, "/spec/metrics");
    let current = items(object, "/status/currentMetrics");
    if wanted.is_empty() {
        return NONE.into();
    }
    let all: Vec<String> = wanted
        .iter()
        .enumerate()
        .map(|(index, metric)| shown(metric, current.get(index)))
        .collect();
    let first = all.get(..SHOWN).unwrap_or(&all).join(", ");
    match all.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{first} + {more} more..."),
        _ => first,
    }
}

fn shown(metric: &Value, status: Option<&Value>) -> String {
    let kind = text(metric, "/type");
    let source = match kind {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".into(),
    };
    let place = |part: &str, name: &str| format!("/{source}/{part}/{name}");
    let target = |name: &str| metric.pointer(&place("target", name));
    let current = |name: &str| status.and_then(|status| status.pointer(&place("current", name)));
    let value = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        _ => UNKNOWN.into(),
    };
    let percent = |value: Option<&Value>, otherwise: &str| match value {
        Some(value) => format!("{value}%"),
        None => otherwise.to_owned(),
    };
    let name = text(metric, &format!("/{source}/name"));
    match (kind, target("averageValue")) {
        ("Resource" | "ContainerResource", Some(wanted)) => {
            let current = value(current("averageValue"));
            format!("{name}: {current}/{}", value(Some(wanted)))
        }
        ("Resource" | "ContainerResource", None) => format!(
            "{name}: {}/{}",
            percent(current("averageUtilization"), UNKNOWN),
            percent(target("averageUtilization"), "<auto>")
        ),
        ("Pods", wanted) => format!("{}/{}", value(current("averageValue")), value(wanted)),
        (_, Some(wanted)) => format!(
            "{}/{} (avg)",
            value(current("averageValue")),
            value(Some(wanted))
        ),
        (_, None) => format!("{}/{}", value(current("value")), value(target("value"))),
    }
}
