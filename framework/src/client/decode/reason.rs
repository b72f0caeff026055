/// A reason with its place: `spec.replicas: expected i32, found a string`.
pub(super) fn with_path(path: &serde_path_to_error::Path, what: String) -> String {
    // `.` is how the crate writes the root, `?` a place it does not know.
    match path.to_string() {
        root if root == "." || root == "?" => what,
        path => format!("{path}: {what}"),
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
