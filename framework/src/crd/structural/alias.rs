//! Older names of fields, from `#[serde(alias = "..")]`.
//!
//! The API server drops a field that the schema does not have, so the schema has each name.

use serde_json::{Map, Value, json};

/// The mark with the older names of a field or a variant.
pub(super) const NAMES: &str = "x-pilothouse-aliases";

/// Adds a property for each older name, and a condition, because serde reads an object with one of the names only.
///
/// A field with an older name has no default in the schema: the server would set it beside the older name.
pub(super) fn expand(map: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = map.get_mut("properties") else {
        return;
    };
    let mut added = Vec::new();
    for (name, property) in properties.iter_mut() {
        let Value::Object(property) = property else {
            continue;
        };
        let Some(Value::Array(older)) = property.remove(NAMES) else {
            continue;
        };
        let mut older: Vec<String> = older
            .iter()
            .filter_map(Value::as_str)
            .filter(|older| older != name)
            .map(str::to_owned)
            .collect();
        older.sort_unstable();
        older.dedup();
        // serde takes an alias that is the name of the field.
        if older.is_empty() {
            continue;
        }
        property.remove("default");
        let mut copy = property.clone();
        // A column or a path leads to one field.
        copy.retain(|key, _| !key.starts_with("x-pilothouse-"));
        copy.insert(
            "description".into(),
            format!("The older name of `{name}`.").into(),
        );
        added.push((name.clone(), older, Value::Object(copy)));
    }
    for (name, older, property) in added {
        for older in &older {
            insert_property(map, older, property.clone());
        }
        let is_required = remove_required(map, &name);
        let names: Vec<&String> = std::iter::once(&name).chain(&older).collect();
        let one_each: Vec<Value> = names
            .iter()
            .map(|name| json!({"required": [name]}))
            .collect();
        let condition = if is_required {
            json!({"oneOf": one_each})
        } else {
            // At most one: the first alone, the second alone, …, or none.
            let none = json!({"not": {"anyOf": one_each.clone()}});
            json!({"oneOf": one_each.into_iter().chain([none]).collect::<Vec<_>>()})
        };
        let all = map.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(condition);
        }
    }
}

fn insert_property(map: &mut Map<String, Value>, name: &str, property: Value) {
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.entry(name).or_insert(property);
    }
}

/// Removes `name` from the required properties. Returns whether it was there.
fn remove_required(map: &mut Map<String, Value>, name: &str) -> bool {
    let Some(Value::Array(required)) = map.get_mut("required") else {
        return false;
    };
    let before = required.len();
    required.retain(|required| required != name);
    let was_there = required.len() < before;
    if required.is_empty() {
        map.remove("required");
    }
    was_there
}
