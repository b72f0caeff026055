//! Why a value does not fit its type, in words that never contain the value (R15).

/// The most nested lists and maps that a value may have which a type holds. It is `serde_json`'s limit.
///
/// It bounds the stack that is needed to read, clone, format, write and drop a value of a type that contains itself, such
/// as a [`DynamicObject`](super::DynamicObject)'s. The readers skip values that no type holds at any depth.
pub(crate) const DEEPEST: usize = 127;

/// The reason for a value that is nested deeper than [`DEEPEST`].
pub(crate) const TOO_DEEP: &str = "nested deeper than 127 lists and maps";

/// The reason for a value whose type needs so much stack for each level that the reader gives up before [`DEEPEST`].
pub(crate) const TOO_DEEP_FOR_THE_STACK: &str =
    "nested so deeply that its type needs more than 1 MiB of stack";

/// The reason in the message of a serde error, without the value.
///
/// serde's messages quote the value. This function keeps only the fixed parts of serde's own messages. It replaces a
/// message of another form, which a type's own code wrote.
pub(crate) fn decode_reason(text: &str) -> String {
    if [TOO_DEEP, TOO_DEEP_FOR_THE_STACK].contains(&text) {
        return text.to_owned();
    }
    // The last occurrence: an earlier one may be part of the value.
    let expected = || Some(strip_position(text.rsplit_once(", expected ")?.1));
    for (prefix, found) in [
        ("invalid type: ", true),
        ("invalid value: ", true),
        ("invalid length ", false),
    ] {
        let Some(rest) = text.strip_prefix(prefix) else {
            continue;
        };
        let Some(expected) = expected() else { break };
        return match kind_of(rest).filter(|_| found) {
            Some(kind) => format!("expected {expected}, found {kind}"),
            None => format!("expected {expected}"),
        };
    }
    if text.starts_with("unknown variant") {
        return match expected() {
            Some(expected) => format!("expected {expected}"),
            None => "not one of the known values".to_owned(),
        };
    }
    if text.starts_with("unknown field") {
        return "a field that the type does not know".to_owned();
    }
    for prefix in ["missing field ", "duplicate field "] {
        if text.starts_with(prefix) {
            return strip_position(text).to_owned();
        }
    }
    "the value does not fit its type".to_owned()
}

/// The kind of value that serde found, from the beginning of its description.
fn kind_of(found: &str) -> Option<&'static str> {
    const KINDS: [(&str, &str); 14] = [
        ("boolean", "a boolean"),
        ("integer", "an integer"),
        ("floating point", "a floating point number"),
        ("number", "a number"),
        ("character", "a character"),
        ("string", "a string"),
        ("byte array", "bytes"),
        ("unit value", "null"),
        ("null", "null"),
        ("Option value", "a value"),
        ("newtype struct", "a value"),
        ("sequence", "a list"),
        ("map", "an object"),
        ("enum", "an enum"),
    ];
    KINDS
        .iter()
        .find(|(word, _)| found.starts_with(word))
        .map(|(_, kind)| *kind)
}

/// Removes serde_json's ` at line 1 column 7`, which means nothing to a reader who does not see the JSON.
pub(crate) fn strip_position(text: &str) -> &str {
    match text.rfind(" at line ") {
        Some(at) => &text[..at],
        None => text,
    }
}
