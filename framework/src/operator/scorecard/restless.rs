//! Why a write is one too many.

use serde_json::Value;

use crate::controller::annotations::RECONCILE_NOW;

/// The most fields that are named.
const MOST_NAMED: usize = 3;
/// The longest value that is shown.
const LONGEST: usize = 40;

/// Why `reconcile` writes an object again.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Restless {
    /// Fields have other values: the text names them.
    Changes(String),
    /// Nothing has changed.
    Same,
    /// It writes an object with another name.
    OtherName,
}

impl Restless {
    /// Compares an object before and after a write. `of_status` says whether the status was written. The values of a secret are not shown.
    pub(super) fn between(before: &Value, after: &Value, of_status: bool) -> Self {
        let parts = |object: &Value| {
            let mut object = object.clone();
            if let Some(fields) = object.as_object_mut() {
                fields.retain(|name, _| (name == "status") == of_status);
            }
            if let Some(metadata) = object["metadata"].as_object_mut() {
                if let Some(annotations) = metadata.get_mut("annotations") {
                    // The trial writes it.
                    annotations
                        .as_object_mut()
                        .map(|all| all.remove(RECONCILE_NOW));
                }
                for written_by_server in ["managedFields", "resourceVersion", "generation"] {
                    metadata.remove(written_by_server);
                }
            }
            object
        };
        let is_secret = after["kind"] == "Secret";
        let (before, after) = (parts(before), parts(after));
        let mut changes = Vec::new();
        differences(&before, &after, String::new(), &mut changes);
        if changes.is_empty() {
            return Self::Same;
        }
        let more = match changes.len() > MOST_NAMED {
            true => format!(", and {} more fields", changes.len() - MOST_NAMED),
            false => String::new(),
        };
        let named = changes.iter().take(MOST_NAMED).map(|change| {
            let Change {
                path,
                before,
                after,
            } = change;
            match is_secret {
                true => format!("`{path}`"),
                false => format!("`{path}` from {} to {}", shown(before), shown(after)),
            }
        });
        Self::Changes(named.collect::<Vec<_>>().join(", ") + &more)
    }

    /// What it means for a reconcile.
    pub(super) fn problem(&self) -> String {
        match self {
            Self::Changes(fields) => format!("it changes {fields}"),
            Self::Same => "the object stays the same, but the request is sent each time".into(),
            Self::OtherName => "it writes an object with another name each time".into(),
        }
    }

    /// What to do.
    pub(super) fn fix(&self) -> &'static str {
        match self {
            Self::Changes(_) => {
                "write the same value for the same input: no time, no counter, no random value, a fixed order of lists"
            }
            Self::Same => {
                "write it with `cx.apply` or `cx.update_status`, which send nothing if nothing would change"
            }
            Self::OtherName => "give it a name that follows from its owner",
        }
    }
}

struct Change<'a> {
    path: String,
    before: &'a Value,
    after: &'a Value,
}

/// Adds the innermost values that differ.
fn differences<'a>(before: &'a Value, after: &'a Value, path: String, found: &mut Vec<Change<'a>>) {
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let value = |object: &'a serde_json::Map<String, Value>| {
                    object.get(name).unwrap_or(&Value::Null)
                };
                let dot = if path.is_empty() { "" } else { "." };
                differences(
                    value(one),
                    value(other),
                    format!("{path}{dot}{name}"),
                    found,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                differences(one, other, format!("{path}[{index}]"), found);
            }
        }
        _ if before == after => {}
        _ => found.push(Change {
            path,
            before,
            after,
        }),
    }
}

/// A value as JSON, shortened.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => "nothing".into(),
        value => value.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_restless_write_names_the_fields_and_shows_no_secret() {
        let object = |kind: &str, version: &str, count: &str, size: i64| {
            json!({"kind": kind, "metadata": {"name": "a", "resourceVersion": version, "generation": size},
                "data": {"count": count, "text": "x".repeat(50)}, "status": {"size": size}})
        };
        let (before, after) = (
            object("ConfigMap", "1", "7", 1),
            object("ConfigMap", "2", "8", 2),
        );
        let between =
            |before, after, of_status| Restless::between(before, after, of_status).problem();
        let expected = "it changes `data.count` from \"7\" to \"8\"";
        assert_eq!(between(&before, &after, false), expected);
        assert_eq!(
            between(&before, &after, true),
            "it changes `status.size` from 1 to 2"
        );
        assert_eq!(Restless::between(&before, &before, false), Restless::Same);
        let secrets = [object("Secret", "1", "7", 1), object("Secret", "2", "8", 1)];
        assert_eq!(
            between(&secrets[0], &secrets[1], false),
            "it changes `data.count`"
        );
        let before = json!({"data": {"a": 1, "b": 1, "c": 1, "d": [1], "e": "x".repeat(50)}});
        let long = between(&before, &json!({"data": {"d": [2]}}), false);
        let expected = "it changes `data.a` from 1 to nothing, `data.b` from 1 to nothing, `data.c` from 1 to nothing, and 2 more fields";
        assert_eq!(long, expected);
    }
}
