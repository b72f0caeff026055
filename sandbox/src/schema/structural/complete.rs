use serde_json::{Map, Value};

use super::json::{fields, list, object};
use crate::schema::error::FieldError;
use crate::schema::path::FieldPath;

type Json = Map<String, Value>;

/// Checks that everything that a junctor (`allOf`, `anyOf`, `oneOf`, `not`) validates is specified outside it.
///
/// `outer` is the path of the specifying schema, `inner` the path of the validating one. As in the API server, only
/// junctors that are reached from the root are checked: one beside a property is not.
pub(super) fn check(
    map: &Json,
    outer: &FieldPath<'_>,
    inner: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    junctors(map, map, outer, inner, errors);
}

fn junctors(
    judging: &Json,
    specifying: &Json,
    outer: &FieldPath<'_>,
    inner: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    for junctor in ["allOf", "anyOf", "oneOf"] {
        let path = inner.child(junctor);
        for (i, judging) in list(judging, junctor) {
            nested(judging, specifying, outer, &path.index(i), errors);
        }
    }
    if let Some(judging) = object(judging, "not") {
        nested(judging, specifying, outer, &inner.child("not"), errors);
    }
}

fn nested(
    judging: &Json,
    specifying: &Json,
    outer: &FieldPath<'_>,
    inner: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    junctors(judging, specifying, outer, inner, errors);
    if let Some(items) = object(judging, "items") {
        let (outer, inner) = (outer.child("items"), inner.child("items"));
        match object(specifying, "items") {
            Some(specifying) => nested(items, specifying, &outer, &inner, errors),
            None => errors.push(missing(&outer, &inner)),
        }
    }
    let (outer, inner) = (outer.child("properties"), inner.child("properties"));
    for (name, property) in fields(judging, "properties") {
        let (outer, inner) = (outer.key(name), inner.key(name));
        match object(specifying, "properties").and_then(|p| object(p, name)) {
            Some(specifying) => nested(property, specifying, &outer, &inner, errors),
            None => errors.push(missing(&outer, &inner)),
        }
    }
}

fn missing(outer: &FieldPath<'_>, inner: &FieldPath<'_>) -> FieldError {
    FieldError::required(outer, format!("because it is defined in {inner}"))
}
