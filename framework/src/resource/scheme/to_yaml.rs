use serde::Serialize;
use serde_json::Value;

/// Writes objects as YAML documents, with `---` between them, ready for `kubectl apply -f -`.
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
        let value: Value = serde_json::to_value(object)?;
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
