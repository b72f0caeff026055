use serde_json::Value;

use crate::go;
use crate::registry::ServedKind;
use crate::schema::FieldError;

/// The errors in the fields that make up the `scale` of a custom object. A write to the status is checked for the
/// status only.
pub(super) fn scale_values(
    kind: &ServedKind,
    subresource: &str,
    object: &Value,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(paths) = kind.scale.as_ref().filter(|_| kind.is_custom()) else {
        return errors;
    };
    if subresource != "status" {
        replicas(&paths.spec, object, &mut errors);
    }
    replicas(&paths.status, object, &mut errors);
    if let Some(path) = &paths.selector {
        match nested(object, path) {
            Ok(None | Some(Value::String(_))) => {}
            Ok(Some(other)) => {
                let detail = mistyped(path, other, "string");
                errors.push(FieldError::invalid(path, "", detail));
            }
            Err(detail) => errors.push(FieldError::invalid(path, "", detail)),
        }
    }
    errors
}

fn replicas(path: &str, object: &Value, errors: &mut Vec<FieldError>) {
    let (value, detail) = match nested(object, path) {
        Ok(None) => return,
        Ok(Some(value)) => match value.as_i64() {
            Some(number) if number < 0 => {
                (value.clone(), "should be a non-negative integer".into())
            }
            Some(number) if number > i32::MAX.into() => (
                value.clone(),
                format!("should be less than or equal to {}", i32::MAX),
            ),
            Some(_) => return,
            None => (0.into(), mistyped(path, value, "int64")),
        },
        Err(detail) => (0.into(), detail),
    };
    errors.push(FieldError::invalid(path, value, detail));
}

fn mistyped(path: &str, value: &Value, wanted: &str) -> String {
    let kind = go::dynamic_type(value);
    let value = go::Printed(value);
    format!("{path} accessor error: {value} is of the type {kind}, expected {wanted}")
}

/// The value at a path such as `.spec.replicas`.
fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut walked = String::new();
    for part in path.trim_start_matches('.').split('.') {
        walked = format!("{walked}.{part}");
        let Value::Object(fields) = value else {
            if value.is_null() {
                return Ok(None);
            }
            return Err(mistyped(&walked, value, "map[string]interface{}"));
        };
        match fields.get(part) {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}
