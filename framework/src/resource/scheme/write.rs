use serde::Serialize;
use serde_json::Value;

/// The objects as documents of YAML, with `---` between them, ready for `kubectl apply -f -`.
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
/// A type refuses to be written, or has keys that are no text.
pub fn to_yaml<K: Serialize>(
    objects: impl IntoIterator<Item = K>,
) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for object in objects {
        // By way of JSON, so that what is written is what an API server gets.
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
