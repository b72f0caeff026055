//! Checks that the path to a value finds this value and no other, and that any path finds only values of the document.

use pilothouse_sandbox::internals::table::JsonPath;
use serde_json::Value;

use crate::input;

/// The document for an input that has none.
const DOCUMENT: &[u8] = br#"{"a":[{"b":1},[2,3]],"c":{"d.e":null}}"#;

pub(crate) fn run(data: &[u8]) {
    let [path, document] = input::parts(data);
    let document = if document.is_empty() {
        DOCUMENT
    } else {
        document
    };
    let Ok(document) = serde_json::from_slice::<Value>(document) else {
        return;
    };
    each(&document, &mut String::new(), &document);
    let Some(path) = str::from_utf8(path)
        .ok()
        .and_then(|path| JsonPath::parse(path).ok())
    else {
        return;
    };
    let found = path.find(&document);
    assert_eq!(found.first().copied(), path.first(&document));
    let whole = document.to_string();
    for value in found.iter().take(100) {
        assert!(whole.contains(&value.to_string()));
    }
}

/// Checks the path to a value, and to all values in it.
fn each(root: &Value, path: &mut String, value: &Value) {
    let parsed = JsonPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(parsed.find(root), [value], "{path}");
    let length = path.len();
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                *path += &format!("[{index}]");
                each(root, path, item);
                path.truncate(length);
            }
        }
        Value::Object(fields) => {
            // In quotes, a name may contain everything but a quote and a backslash.
            for (name, field) in fields
                .iter()
                .filter(|(name, _)| !name.contains(['\'', '\\']))
            {
                *path += &format!("['{name}']");
                each(root, path, field);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
