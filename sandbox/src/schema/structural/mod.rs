//! What a CRD's schema must be like before the API server takes it.

mod complete;
mod defaults;
mod invariants;
mod keywords;
mod lists;
mod rules;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::FieldError;
use super::node::Schema;
use super::parse;
use super::path::FieldPath;

/// Reads a schema, or says everything that is wrong with it.
///
/// The steps are those of the API server, and so is what hides what: rules are compiled only if the schema is in order,
/// defaults are checked only if it is structural.
pub(super) fn read(json: &Value, at: &FieldPath<'_>) -> Result<Schema, Vec<FieldError>> {
    let mut errors = Vec::new();
    let Some(map) = json.as_object() else {
        let error = FieldError::invalid(at.bare(), json.clone(), "must be an object");
        return Err(vec![error]);
    };
    if is_true(map, "nullable") {
        let at = at.child("nullable");
        errors.push(FieldError::forbidden(
            at,
            "nullable cannot be true at the root",
        ));
    }
    let mut misused = Vec::new();
    keywords::check(map, at, &mut misused);
    let mut is_structural = false;
    // What has keywords that no structural schema has is not looked at as one.
    if !misused
        .iter()
        .any(|error| error.detail.ends_with(" is not supported"))
    {
        let before = errors.len();
        invariants::check(map, at, &mut errors);
        complete::check(map, at, at, &mut errors);
        is_structural = errors.len() == before;
    }
    errors.extend(misused);
    if is_structural && errors.is_empty() {
        rules::check(map, at, true, None, &mut errors);
    }
    let schema = Schema::here(parse::node(json, None));
    if is_structural {
        defaults::check(&schema, at, &mut errors);
    }
    if errors.is_empty() {
        return Ok(schema.with_source(Arc::new(json.clone())));
    }
    errors.sort_by_cached_key(ToString::to_string);
    errors.dedup();
    Err(errors)
}

fn is_true(map: &Map<String, Value>, name: &str) -> bool {
    map.get(name) == Some(&Value::Bool(true))
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> &'a str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn object<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    map.get(name).and_then(Value::as_object)
}

fn fields<'a>(
    map: &'a Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = (&'a String, &'a Map<String, Value>)> {
    let entries = object(map, name).into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name, value.as_object()?)))
}

fn list<'a>(
    map: &'a Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = (usize, &'a Map<String, Value>)> {
    let items = map
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    items
        .enumerate()
        .filter_map(|(i, v)| Some((i, v.as_object()?)))
}
