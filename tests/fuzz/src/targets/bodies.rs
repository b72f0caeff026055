//! Reads bodies of requests as the sandbox does, and compares with `serde_json` and between formats.

use bytes::Bytes;
use pilothouse_sandbox::internals::body;
use serde_json::Value;

use crate::input;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const CBOR: &str = "application/cbor";

pub(crate) fn run(data: &[u8]) {
    let (form, rest) = input::choice(data);
    let body = Bytes::copy_from_slice(rest);
    match form % 3 {
        0 => json(&body),
        1 => _ = body::decode(YAML, &body),
        _ => cbor(&body),
    }
}

fn json(body: &Bytes) {
    let read = body::decode(JSON, body);
    if input::depth(body) > input::DEEPEST {
        return;
    }
    let text = characters(body);
    let reference = serde_json::from_str::<Value>(&text);
    if reference.is_err() && has_surrogate(&text) {
        // A half of a pair of surrogates, which a server replaces and `serde_json` refuses. Or another fault.
        return;
    }
    assert_eq!(read.is_ok(), reference.is_ok(), "{read:?} {reference:?}");
    let (Ok(read), Ok(reference)) = (read, reference) else {
        return;
    };
    assert_eq!(read, reference);
    let written = body::to_cbor(text.as_bytes());
    assert_eq!(body::decode(CBOR, &written).as_ref(), Ok(&read), "as CBOR");
    as_yaml(&text.into(), &read);
}

/// The text with U+FFFD in place of each byte that is not UTF-8. A server reads it so, and `serde_json` refuses it.
fn characters(body: &[u8]) -> String {
    let mut text = String::new();
    for chunk in body.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
    }
    text
}

/// Whether an escape in the text is a half of a pair of surrogates, with or without the other half.
fn has_surrogate(text: &str) -> bool {
    ["\\ud", "\\uD"].iter().any(|start| text.contains(start))
}

/// Checks a JSON text that the YAML reader reads.
fn as_yaml(body: &Bytes, value: &Value) {
    // YAML has other escapes, does not allow tabs as spaces in some places, refuses the same key twice, and limits keys and levels.
    let text = str::from_utf8(body).expect("JSON");
    let is_plain = text.is_ascii() && !text.contains(['\\', '\t', '\r', '\u{7f}']);
    let is_plain = is_plain && text.len() < 1000 && input::depth(body) < 60;
    if is_plain && value.is_object() && input::Unique::is(body) {
        let read = body::decode(YAML, body).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(input::floats(read), input::floats(value.clone()), "{text}");
    }
}

fn cbor(body: &Bytes) {
    let Ok(value) = body::decode(CBOR, body) else {
        return;
    };
    let json = serde_json::to_vec(&value).expect("a value");
    let again = body::decode(CBOR, &body::to_cbor(&json));
    assert_eq!(again, Ok(value));
}
