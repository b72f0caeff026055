//! `selectableFields` of a version: the fields that a field selector may name.

use serde_json::Value;

use super::{items, text};
use crate::error::Cause;

/// The most fields that a version may have.
const MOST: usize = 8;

/// The names of the selectable fields of a version, as field selectors write them: `spec.color`.
pub(super) fn names(version: &Value) -> Vec<String> {
    let fields = items(version, "/selectableFields").iter();
    fields
        .map(|field| text(field, "/jsonPath"))
        .map(|path| path.strip_prefix('.').unwrap_or(path).to_owned())
        .collect()
}

/// Checks the selectable fields of a version. `at` is the path of the version. `schema` is `None` if the server looks for the
/// schema at a place where the definition has none.
pub(super) fn check(version: &Value, at: &str, schema: Option<&Value>, causes: &mut Vec<Cause>) {
    let fields = items(version, "/selectableFields");
    let at = format!("{at}.selectableFields");
    if fields.is_empty() {
        return;
    }
    let Some(schema) = schema else {
        let detail = "may only be set when validations.schema is included";
        causes.push(Cause::invalid(at, &"".into(), detail));
        return;
    };
    let mut seen: Vec<&str> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{at}[{index}].jsonPath");
        let path = text(field, "/jsonPath");
        let mut invalid = |detail: &str| {
            causes.push(Cause::invalid(at.clone(), &path.into(), detail));
        };
        if path.is_empty() {
            causes.push(Cause::required(at, ""));
            continue;
        }
        let found = match find(path, schema) {
            Ok(found) => found,
            Err(wrong) => {
                invalid(&format!("is an invalid path: {wrong}"));
                continue;
            }
        };
        if path.split('.').nth(1) == Some("metadata") {
            invalid("must not point to fields in metadata");
        }
        if !matches!(text(found, "/type"), "string" | "boolean" | "integer") {
            invalid(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats \
                 are allowed.",
            );
        }
        if seen.contains(&path) {
            let message = format!("Duplicate value: {path:?}");
            causes.push(Cause::field("FieldValueDuplicate", at, message));
        } else {
            seen.push(path);
        }
    }
    if seen.len() > MOST {
        let message = format!("Too many: {}: must have at most {MOST} items", seen.len());
        causes.push(Cause::field("FieldValueTooMany", at, message));
    }
}

/// The schema at a path of names, such as `.spec.color`.
fn find<'a>(path: &str, mut schema: &'a Value) -> Result<&'a Value, String> {
    const UNKNOWN: &str = "does not refer to a valid field";
    let mut rest = path;
    while !rest.is_empty() {
        if rest.starts_with('[') {
            return Err("array notation is not allowed".into());
        }
        let Some(after) = rest.strip_prefix('.') else {
            let (wrong, _) = split(rest);
            return Err(format!("expected [ or . but got: {wrong}"));
        };
        if after.is_empty() {
            return Err("unexpected end of JSON path".into());
        }
        let name;
        (name, rest) = split(after);
        schema = match (schema.get("properties"), schema.get("additionalProperties")) {
            (Some(properties), _) => properties.get(name).ok_or(UNKNOWN)?,
            (None, Some(entries)) => entries,
            (None, None) => return Err(UNKNOWN.into()),
        };
    }
    Ok(schema)
}

/// Splits a path after its first token: a name, or one of the three delimiters.
fn split(path: &str) -> (&str, &str) {
    let end = path.find(['.', '[', ']']).unwrap_or(path.len());
    path.split_at(end.max(1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(paths: &[&str]) -> Vec<String> {
        let fields: Vec<Value> = paths.iter().map(|path| json!({"jsonPath": path})).collect();
        let text = json!({"type": "string"});
        let many = (0..9).map(|i| (format!("s{i}"), text.clone()));
        let schema = json!({"properties": {
            "metadata": {"properties": {"name": text}},
            "spec": {"properties": {
                "color": text, "size": {"type": "number"}, "list": {"type": "array", "items": text},
                "labels": {"additionalProperties": {"type": "integer"}},
            }},
            "status": {"properties": many.collect::<serde_json::Map<_, _>>()},
        }});
        let mut causes = Vec::new();
        let version = json!({"selectableFields": fields});
        check(&version, "v", Some(&schema), &mut causes);
        let text = |cause: &Cause| format!("{}: {}", cause.field, cause.message);
        causes.iter().map(text).collect()
    }

    #[test]
    fn paths_must_lead_to_single_values() {
        let path = |path: &str, detail: &str| {
            vec![format!(
                "v.selectableFields[0].jsonPath: Invalid value: \"{path}\": {detail}"
            )]
        };
        assert_eq!(texts(&[".spec.color", ".spec.labels.x"]), [""; 0]);
        let table = [
            (
                ".spec.other",
                "is an invalid path: does not refer to a valid field",
            ),
            (
                "..spec",
                "is an invalid path: does not refer to a valid field",
            ),
            (
                ".spec.color.x",
                "is an invalid path: does not refer to a valid field",
            ),
            (
                "spec.color",
                "is an invalid path: expected [ or . but got: spec",
            ),
            (
                ".spec.color]",
                "is an invalid path: expected [ or . but got: ]",
            ),
            (
                ".spec.list[0]",
                "is an invalid path: array notation is not allowed",
            ),
            (".spec.", "is an invalid path: unexpected end of JSON path"),
            (".metadata.name", "must not point to fields in metadata"),
            (
                ".spec.size",
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are \
                 allowed.",
            ),
        ];
        for (given, detail) in table {
            assert_eq!(texts(&[given]), path(given, detail), "{given}");
        }
    }

    #[test]
    fn each_field_counts_once_and_eight_are_the_most() {
        assert_eq!(
            texts(&[".spec.color", ".spec.color", ""]),
            [
                "v.selectableFields[1].jsonPath: Duplicate value: \".spec.color\"",
                "v.selectableFields[2].jsonPath: Required value"
            ]
        );
        let many: Vec<String> = (0..9).map(|i| format!(".status.s{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(texts(&many[..8]), [""; 0]);
        assert_eq!(
            texts(&many),
            ["v.selectableFields: Too many: 9: must have at most 8 items"]
        );
    }
}
