//! Limits of nesting.

use serde_json::Value;

/// The most levels of a value, as in Go's `encoding/json` and in apimachinery's CBOR decoder.
pub(crate) const LIMIT: usize = 10_000;

/// The levels that fit any stack. Deeper values need a [`large`](crate::stack::large) one.
pub(crate) const USUAL: usize = 64;

/// Whether a value has at most `levels` levels. A scalar has none.
pub(crate) fn within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| within(item, levels - 1)),
        Value::Object(fields) => {
            levels > 0 && fields.values().all(|field| within(field, levels - 1))
        }
        _ => true,
    }
}

/// Counts the levels of a JSON text. If the text is not JSON, the count is at least the depth at which a reader fails.
pub(crate) fn of_text(text: &[u8]) -> usize {
    let (mut level, mut deepest) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' => level = level.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brackets_outside_strings_count_as_levels() {
        for (text, levels) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a": [{}, []], "b": {}}"#, 3),
            (r#"["[[[", "\"[[", "\\", [1]]"#, 2),
            ("[[[", 3),
            (r#"["[["#, 1),
        ] {
            assert_eq!(of_text(text.as_bytes()), levels, "{text}");
        }
    }
}
