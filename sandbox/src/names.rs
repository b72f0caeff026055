//! Rules for names, labels and annotations. Each function returns the errors, with the texts of kube-apiserver.

use std::sync::LazyLock;

use regex::Regex;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                          and end with an alphanumeric character";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                              must start and end with an alphanumeric character";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035_TEXT: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                               alphabetic character, and end with an alphanumeric character";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_TEXT: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                              alphanumeric character";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const VALUE_TEXT: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                          start and end with an alphanumeric character";

/// The word of older rules of a real server for the bytes that they count.
const CHARACTERS: &str = "characters";

macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(&format!("^(?:{})$", $text)).ok());
        PATTERN.as_ref()
    }};
}

fn check(
    text: &str,
    pattern: Option<&Regex>,
    limit: (usize, &str),
    wrong: &str,
    examples: &[&str],
    source: &str,
) -> Vec<String> {
    let mut errors = Vec::new();
    let (limit, unit) = limit;
    if text.len() > limit {
        errors.push(format!("must be no more than {limit} {unit}"));
    }
    if !pattern.is_some_and(|pattern| pattern.is_match(text)) {
        let examples: Vec<String> = examples
            .iter()
            .map(|example| format!("'{example}'"))
            .collect();
        errors.push(format!(
            "{wrong} (e.g. {}, regex used for validation is '{source}')",
            examples.join(",  or ")
        ));
    }
    errors
}

/// A lower-case name without dots, at most 63 characters.
pub(crate) fn dns_label(name: &str) -> Vec<String> {
    if name.contains('.') && pattern!(SUBDOMAIN).is_some_and(|pattern| pattern.is_match(name)) {
        let mut errors = Vec::new();
        if name.len() > 63 {
            errors.push("must be no more than 63 characters".into());
        }
        errors.push("must not contain dots".into());
        return errors;
    }
    check(
        name,
        pattern!(LABEL),
        (63, CHARACTERS),
        LABEL_TEXT,
        &["my-name", "123-abc"],
        LABEL,
    )
}

/// A lower-case name with dots, at most 253 characters.
pub(crate) fn dns_subdomain(name: &str) -> Vec<String> {
    subdomain(name, CHARACTERS)
}

/// A name with dots in any case, at most 253 characters.
pub(crate) fn any_case_subdomain(name: &str) -> Vec<String> {
    const TEXT: &str = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
         alphanumeric character (e.g. 'Example.com', regex used for validation is ";
    let mut errors = dns_subdomain(&name.to_lowercase());
    for error in &mut errors {
        if error.starts_with(SUBDOMAIN_TEXT) {
            *error = format!("{TEXT}'{SUBDOMAIN}')");
        }
    }
    errors
}

fn subdomain(name: &str, unit: &str) -> Vec<String> {
    check(
        name,
        pattern!(SUBDOMAIN),
        (253, unit),
        SUBDOMAIN_TEXT,
        &["example.com"],
        SUBDOMAIN,
    )
}

/// A lower-case name with dots and underscores, at most 253 characters.
pub(crate) fn dns_subdomain_with_underscore(name: &str) -> Vec<String> {
    const FORM: &str = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
    const TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must \
                        start and end with an alphanumeric character";
    check(
        name,
        pattern!(FORM),
        (253, CHARACTERS),
        TEXT,
        &["example.com"],
        FORM,
    )
}

/// The name of an environment variable.
pub(crate) fn environment_variable(name: &str) -> Vec<String> {
    let printable = |letter: char| matches!(letter, ' '..='~') && letter != '=';
    if name.is_empty() {
        return vec!["environment variable name must be non-empty".into()];
    }
    if name.chars().all(printable) {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .into(),
    ]
}

/// The name of a header of HTTP.
pub(crate) fn http_header(name: &str) -> Vec<String> {
    const FORM: &str = "[-A-Za-z0-9]+";
    let wrong = "a valid HTTP header must consist of alphanumeric characters or '-'";
    let limit = (usize::MAX, CHARACTERS);
    check(name, pattern!(FORM), limit, wrong, &["X-Header-Name"], FORM)
}

/// A share: `25%`.
pub(crate) fn percent(text: &str) -> Vec<String> {
    const FORM: &str = "[0-9]+%";
    let wrong = "a valid percent string must be a numeric string followed by an ending '%'";
    let limit = (usize::MAX, CHARACTERS);
    check(text, pattern!(FORM), limit, wrong, &["1%", "93%"], FORM)
}

/// Whether a text is the name of a setting of the kernel.
pub(crate) fn is_sysctl(name: &str) -> bool {
    const FORM: &str = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
    name.len() <= 253 && pattern!(FORM).is_some_and(|pattern| pattern.is_match(name))
}

/// A lower-case name without dots that begins with a letter.
pub(crate) fn dns_1035_label(name: &str) -> Vec<String> {
    check(
        name,
        pattern!(LABEL_1035),
        (63, CHARACTERS),
        LABEL_1035_TEXT,
        &["my-name", "abc-123"],
        LABEL_1035,
    )
}

/// A name that may be a segment of a path: the rule of the RBAC kinds.
pub(crate) fn path_segment(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name == "." || name == ".." {
        errors.push(format!("may not be '{name}'"));
    }
    for letter in ['/', '%'] {
        if name.contains(letter) {
            errors.push(format!("may not contain '{letter}'"));
        }
    }
    errors
}

/// A key of labels, annotations and finalizers: `name` or `prefix/name`.
pub(crate) fn qualified_name(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let (prefix, part) = match name.split_once('/') {
        Some((prefix, part)) => (Some(prefix), part),
        None => (None, name),
    };
    if part.contains('/') {
        let examples = "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is";
        errors.push(format!(
            "a valid label key {QUALIFIED_TEXT} {examples} '{QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. \
             'example.com/MyName')"
        ));
        return errors;
    }
    match prefix {
        Some("") => errors.push("prefix part must be non-empty".into()),
        Some(prefix) => errors.extend(
            subdomain(prefix, "bytes")
                .into_iter()
                .map(|error| format!("prefix part {error}")),
        ),
        None => {}
    }
    if part.is_empty() {
        errors.push("name part must be non-empty".into());
    }
    let examples = ["MyName", "my.name", "123-abc"];
    let wrong = check(
        part,
        pattern!(QUALIFIED),
        (63, "bytes"),
        QUALIFIED_TEXT,
        &examples,
        QUALIFIED,
    );
    errors.extend(wrong.into_iter().map(|error| format!("name part {error}")));
    errors
}

/// The value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    check(
        value,
        pattern!(VALUE),
        (63, "bytes"),
        VALUE_TEXT,
        &["MyValue", "my_value", "12345"],
        VALUE,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_refused_with_the_texts_of_the_server() {
        assert!(dns_subdomain("a.b-c.9").is_empty());
        assert!(dns_label("1-a").is_empty());
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
        assert_eq!(
            label_value(&"a".repeat(64)),
            ["must be no more than 63 bytes"]
        );
        assert_eq!(
            dns_label("Web"),
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
                 an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
        assert_eq!(
            dns_label(&"a".repeat(64)),
            ["must be no more than 63 characters"]
        );
        assert_eq!(path_segment("a/b"), ["may not contain '/'"]);
        assert!(qualified_name("app.kubernetes.io/name").is_empty());
        assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
        assert!(label_value("").is_empty());
    }
}
