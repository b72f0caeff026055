//! Questions to a schema of a definition.

use serde_json::{Map, Value};

/// A field of the schema that is a list of texts.
pub(super) fn texts<'a>(schema: &'a Value, key: &str) -> Vec<&'a str> {
    let list = schema[key].as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

pub(super) fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema[key].as_str().unwrap_or_default()
}

pub(super) fn flag(schema: &Value, key: &str) -> bool {
    schema[key] == true
}

pub(super) fn keeps_unknown(schema: &Value) -> bool {
    flag(schema, "x-kubernetes-preserve-unknown-fields")
}

/// The names of the fields on a JSON path, such as `.spec.place['room.size']` or `.spec.room\\.size`. `None` if it has other parts, such as a
/// place in a list.
pub(super) fn names_on(path: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let in_brackets = ['\'', '"'].into_iter().find_map(|quote| {
            let inner = rest.strip_prefix(&format!("[{quote}"))?;
            inner.split_once(&format!("{quote}]"))
        });
        let mut name = String::new();
        if let Some((inner, after)) = in_brackets {
            inner.clone_into(&mut name);
            rest = after;
        } else {
            let inner = rest.strip_prefix('.')?;
            let mut letters = inner.char_indices();
            rest = "";
            while let Some((at, letter)) = letters.next() {
                match letter {
                    '.' | '[' => {
                        rest = &inner[at..];
                        break;
                    }
                    '\\' => name.extend(letters.next().map(|(_, escaped)| escaped)),
                    letter => name.push(letter),
                }
            }
        }
        if name.is_empty() {
            return None;
        }
        names.push(name);
    }
    Some(names)
}

/// The fields of an object; `None` if the schema names none.
pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    let properties = schema["properties"].as_object();
    properties.filter(|properties| !properties.is_empty())
}

/// The schema as a text that is equal for schemas which differ in their descriptions only.
pub(super) fn key(schema: &Value) -> String {
    let mut text = String::new();
    write_key(schema, false, &mut text);
    text
}

/// `is_named` is set where the keys are the names of fields: one of them may be `description`.
fn write_key(schema: &Value, is_named: bool, text: &mut String) {
    match schema {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (key, value) in entries {
                if !is_named && key == "description" {
                    continue;
                }
                text.push_str(&format!("{key:?}:"));
                write_key(value, !is_named && key == "properties", text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_key(item, false, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// Whether the schema is the one of a quantity, such as `500m`: a number or a text with the pattern of apimachinery.
pub(super) fn is_quantity(schema: &Value) -> bool {
    text(schema, "pattern").contains("[KMGTPE]i")
}

/// Whether the object is a `metav1.Condition`, with its bounds.
pub(super) fn is_condition(schema: &Value) -> bool {
    let names = [
        "lastTransitionTime",
        "message",
        "observedGeneration",
        "reason",
        "status",
        "type",
    ];
    let Some(properties) = properties(schema) else {
        return false;
    };
    let required = texts(schema, "required");
    let is_required = |name: &&str| *name == "observedGeneration" || required.contains(name);
    properties.len() == names.len()
        && names.iter().all(|name| properties.contains_key(*name))
        && names.iter().all(is_required)
        && text(&properties["lastTransitionTime"], "format") == "date-time"
        && text(&properties["observedGeneration"], "type") == "integer"
        && properties["reason"]["pattern"].is_string()
        && properties["type"]["pattern"].is_string()
        && properties["status"]["enum"].is_array()
        && !keeps_unknown(schema)
}

/// Whether the object is a `metav1.LabelSelector`.
pub(super) fn is_label_selector(schema: &Value) -> bool {
    let Some(fields) = properties(schema) else {
        return false;
    };
    let (labels, expressions) = (
        &schema["properties"]["matchLabels"],
        &schema["properties"]["matchExpressions"],
    );
    let item = &expressions["items"];
    let is_text = |name: &str| {
        let field = &item["properties"][name];
        text(field, "type") == "string" && field["enum"].is_null()
    };
    let values = &item["properties"]["values"];
    fields.len() == 2
        && text(&labels["additionalProperties"], "type") == "string"
        && properties(item).is_some_and(|fields| fields.len() == 3)
        && is_text("key")
        && is_text("operator")
        && text(&values["items"], "type") == "string"
        && !keeps_unknown(schema)
        && !keeps_unknown(item)
        && schema["required"].is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_path_names_fields_with_dots_in_three_forms() {
        for path in [
            ".spec.place['room.size'].unit",
            ".spec.place[\"room.size\"].unit",
            ".spec.place.room\\.size.unit",
            ".spec['place'].room\\.size['unit']",
        ] {
            let names = names_on(path).unwrap();
            assert_eq!(names, ["spec", "place", "room.size", "unit"], "{path}");
        }
        assert_eq!(names_on("").unwrap(), [""; 0]);
        for other in [
            "spec",
            ".spec..a",
            ".spec[0]",
            ".spec[*].a",
            ".spec['a",
            ".",
            ".spec.",
        ] {
            assert_eq!(names_on(other), None, "{other}");
        }
    }
}
