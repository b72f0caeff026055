/// The lists and maps within each other that a type may hold, as in `serde_json`.
///
/// It bounds the stack that it takes to read, clone, show, write and drop a value of a type that contains itself, such
/// as a [`DynamicObject`](super::DynamicObject)'s. What no type holds is stepped over at any depth.
pub(crate) const DEEPEST: usize = 127;

/// The reason why a value that is nested deeper than [`DEEPEST`] is not read.
pub(crate) const TOO_DEEP: &str = "nested deeper than 127 lists and maps";

/// What serde says of a value that does not fit its type, without the value.
///
/// serde's messages quote the value they stumble over. Of those forms only the fixed parts are
/// kept; a message of unknown form, which a type's own code wrote, is replaced.
pub(crate) fn misfit(text: &str) -> String {
    if text == TOO_DEEP {
        return text.to_owned();
    }
    // The last occurrence: what stands before it may be the value's own text.
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

/// serde's word for what it found, from the beginning of its description.
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

/// Without serde_json's ` at line 1 column 7`, which means nothing to the reader.
pub(crate) fn strip_position(text: &str) -> &str {
    match text.rfind(" at line ") {
        Some(at) => &text[..at],
        None => text,
    }
}
