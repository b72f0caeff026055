/// An RFC 1123 label: lower case letters, digits and `-`, at most 63, beginning and ending with a letter or digit.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63
        && ends_alphanumeric(text, |c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// An RFC 1035 label: an RFC 1123 label that begins with a letter.
pub(super) fn is_dns_1035_label(text: &str) -> bool {
    is_dns_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// An RFC 1123 subdomain: parts like labels joined by `.`, at most 253 characters.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|part| {
            ends_alphanumeric(part, |c| c.is_ascii_lowercase() || c.is_ascii_digit())
                && part
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        })
}

/// The value of a label: empty, or at most 63 letters, digits, `-`, `_`, `.`, beginning and ending with a letter or digit.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// The key of a label or annotation: a name part, optionally after a DNS subdomain and `/`.
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name_part(name),
        None => is_name_part(text),
    }
}

/// A name that can stand in a path: not `.`, not `..`, without `/` and `%`.
pub(super) fn is_path_segment(text: &str) -> bool {
    !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '%'])
}

/// The key of a ConfigMap's or Secret's entry.
pub(super) fn is_config_key(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && text != "."
        && !text.starts_with("..")
}

fn is_name_part(text: &str) -> bool {
    text.len() <= 63
        && ends_alphanumeric(text, |c| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn ends_alphanumeric(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    text.chars().next().is_some_and(&allowed) && text.chars().next_back().is_some_and(&allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_by_their_syntax() {
        assert!(is_dns_label("web-1") && !is_dns_label("Web") && !is_dns_label("-a"));
        assert!(!is_dns_label("a.b") && is_dns_subdomain("a.b") && !is_dns_subdomain("a..b"));
        assert!(!is_dns_1035_label("1a") && is_dns_label("1a") && !is_dns_label(""));
        assert!(!is_dns_label(&"a".repeat(64)) && is_dns_subdomain(&"a".repeat(64)));
        assert!(is_label_value("") && is_label_value("A_b.c") && !is_label_value("a b"));
        assert!(is_qualified_name("app.kubernetes.io/name") && !is_qualified_name("a/b/c"));
        assert!(is_config_key(".hidden") && !is_config_key("..") && !is_config_key("a/b"));
        assert!(is_path_segment("system:admin") && !is_path_segment("a/b"));
    }
}
