use serde::Serialize;
use serde_json::Value;

/// Writes objects as YAML documents, with `---` between them, ready for `kubectl apply -f -`.
///
/// Keys are in alphabetical order, and whole numbers have no fraction. The same objects always give the same text, so the
/// text can be under version control.
///
/// ```
/// use pilothouse::k8s::api::core::v1::ConfigMap;
/// use pilothouse::resource::{Object, to_yaml};
///
/// let text = to_yaml([&ConfigMap::named("a")]).unwrap();
/// assert_eq!(text, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n");
/// ```
///
/// # Errors
///
/// Returns an error if an object's `Serialize` fails, or if a map has keys that are not strings.
pub fn to_yaml<K: Serialize>(
    objects: impl IntoIterator<Item = K>,
) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for object in objects {
        // Converted to JSON first, so that the text is the same as an API server would get.
        let mut value: Value = serde_json::to_value(object)?;
        whole_numbers(&mut value);
        if !text.is_empty() {
            text.push_str("---\n");
        }
        let document = serde_saphyr::to_string(&value).map_err(serde::ser::Error::custom)?;
        text.push_str(&document);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(text)
}

/// Removes the fraction from whole numbers, as Go does: k8s-openapi stores the bounds of a schema as floats, which would
/// print `minimum: 0.0`.
pub(crate) fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && float.fract() == 0.0
                && float.abs() < 9_007_199_254_740_992.0
            {
                *number = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}
