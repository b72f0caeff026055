/// A reason with its place: `spec.replicas: expected i32, found a string`.
pub(super) fn with_path(path: &serde_path_to_error::Path, what: String) -> String {
    // `.` is how the crate writes the root, `?` a place it does not know.
    match path.to_string() {
        root if root == "." || root == "?" => what,
        path => format!("{path}: {what}"),
    }
}

/// What serde says of a value that does not fit its type, without the value.
///
/// serde's messages quote the value they stumble over. Of those forms only the fixed parts are
/// kept; a message of unknown form, which a type's own code wrote, is replaced.
pub(crate) fn misfit(text: &str) -> String {
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
fn strip_position(text: &str) -> &str {
    match text.rfind(" at line ") {
        Some(at) => &text[..at],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use crate::client::decode::decode_plain;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[allow(dead_code)]
    struct Probe {
        number: Option<i32>,
        choice: Option<Choice>,
        own: Option<Own>,
        pair: Option<(u8, u8)>,
    }

    #[derive(Deserialize, Debug)]
    enum Choice {
        Left,
        Right,
    }

    #[derive(Debug)]
    struct Own;

    impl<'de> Deserialize<'de> for Own {
        fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            let text = String::deserialize(d)?;
            Err(serde::de::Error::custom(format!("what is {text}?")))
        }
    }

    #[test]
    fn a_reason_names_the_expectation_and_never_the_value() {
        let table = [
            (
                r#"{"number":"hunter2, expected x"}"#,
                "number: expected i32, found a string",
            ),
            (
                r#"{"number":77.5}"#,
                "number: expected i32, found a floating point number",
            ),
            (r#"{"number":[]}"#, "number: expected i32, found a list"),
            (
                r#"{"choice":"hunter2"}"#,
                "choice: expected `Left` or `Right`",
            ),
            (
                r#"{"own":"hunter2"}"#,
                "own: the value does not fit its type",
            ),
            (r#"{"pair":[1]}"#, "pair: expected a tuple of size 2"),
            (r#"["hunter2"]"#, "[0]: expected i32, found a string"),
            (r#"{"number":1"#, "the JSON ends too early"),
        ];
        for (text, expected) in table {
            let reason = decode_plain::<Probe>(text.as_bytes()).unwrap_err();
            assert_eq!(reason, expected);
        }
    }
}
