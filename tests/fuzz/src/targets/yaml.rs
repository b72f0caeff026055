//! Checks that JSON read as YAML gives the same value, and that written YAML is read back unchanged.

use pilothouse::resource::{ManifestError, Scheme, to_yaml};
use serde_json::Value;

use crate::input;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let scheme = Scheme::new().with_other_kinds();
    // A carriage return ends a line of YAML, too.
    let lines = text.split(['\n', '\r']).count();
    for read in scheme.decode(text) {
        let value = match read {
            Ok(manifest) => {
                assert!(
                    (1..=lines).contains(&manifest.line),
                    "line {}",
                    manifest.line
                );
                serde_json::to_value(manifest).expect("an object that was read")
            }
            Err(error) => {
                assert!((1..=lines).contains(&error.line), "line {}", error.line);
                continue;
            }
        };
        let written = to_yaml([&value]).expect("JSON");
        let again = only(scheme.decode(&written)).unwrap_or_else(|e| panic!("{written}\n{e}"));
        assert_eq!(input::floats(again), input::floats(value), "{written}");
    }
    // Strict reading only refuses more.
    let strict = scheme.clone().strict().decode(text);
    assert_eq!(strict.is_empty(), scheme.decode(text).is_empty());
    as_json(&scheme, text);
}

/// Checks a JSON text that the YAML parser reads.
fn as_json(scheme: &Scheme, text: &str) {
    // YAML has no surrogate pairs, does not allow tabs as spaces in some places, and limits keys to 1024 characters.
    let is_plain = !text.contains("\\u") && !text.contains(['\t', '\u{7f}']) && text.len() < 1000;
    let is_plain = is_plain && input::depth(text.as_bytes()) < 60 && text.is_ascii();
    if !is_plain || !text.starts_with('{') || !input::Unique::is(text.as_bytes()) {
        return;
    }
    let Ok(plain) = only(scheme.decode(text)) else {
        return;
    };
    let as_yaml = format!("# YAML\n{text}\n");
    let yaml = only(scheme.decode(&as_yaml)).unwrap_or_else(|e| panic!("{as_yaml}\n{e}"));
    assert_eq!(input::floats(yaml), input::floats(plain), "{as_yaml}");
}

fn only(
    found: Vec<Result<pilothouse::resource::Manifest, ManifestError>>,
) -> Result<Value, String> {
    let mut values = Vec::new();
    for one in found {
        let manifest = one.map_err(|error| error.to_string())?;
        values.push(serde_json::to_value(manifest).map_err(|error| error.to_string())?);
    }
    match <[Value; 1]>::try_from(values) {
        Ok([value]) => Ok(value),
        Err(values) => Err(format!("{} objects", values.len())),
    }
}
