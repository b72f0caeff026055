//! The API's limits for the fields of an Event. A value beyond a limit is changed to fit, because a
//! slightly changed event is more useful than a rejected one.

/// The longest reason and the longest action, in bytes.
pub(super) const WORD: usize = 128;
/// The longest note, in bytes.
pub(super) const NOTE: usize = 1024;
/// The longest name of an object, and the longest prefix of a qualified name, in bytes.
const SUBDOMAIN: usize = 253;
/// The longest name after the slash of a qualified name, in bytes.
const QUALIFIED: usize = 63;

/// Truncates `text` to at most `longest` bytes, between two characters.
pub(super) fn truncate(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        let end = (0..=longest).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
    }
    text
}

/// `prefix/name` or `name` as a valid reporting controller. Characters that are not allowed become
/// dashes.
pub(super) fn qualified_name(text: &str) -> String {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (subdomain(prefix, SUBDOMAIN), name),
        None => (None, text),
    };
    let name = masked(name, QUALIFIED, |c| {
        c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
    });
    let name = if name.is_empty() { "unknown" } else { &name };
    match prefix {
        Some(prefix) => format!("{prefix}/{name}"),
        None => name.to_owned(),
    }
}

/// The name of an Event about an object, as in client-go: the object's name, made valid, and the time
/// in hexadecimal.
pub(super) fn event_name(object: &str, stamp: u64) -> String {
    let stamp = format!(".{stamp:x}");
    match subdomain(object, SUBDOMAIN - stamp.len()) {
        Some(object) => object + &stamp,
        None => format!("event{stamp}"),
    }
}

/// `text` as a DNS subdomain (RFC 1123). `None` if no character of it is allowed.
fn subdomain(text: &str, longest: usize) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let labels = text
        .split('.')
        .map(|label| masked(label, longest, |c| c.is_ascii_alphanumeric() || c == '-'))
        .filter(|label| !label.is_empty());
    let joined = labels.collect::<Vec<_>>().join(".");
    let truncated = truncate(joined, longest);
    let trimmed = truncated.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// Replaces each character that is not `allowed` by a dash, and trims the ends to a letter or a digit.
fn masked(text: &str, longest: usize, allowed: impl Fn(char) -> bool) -> String {
    let other = |c: char| !c.is_ascii_alphanumeric();
    let text = text.replace(|c| !allowed(c), "-");
    let text = truncate(text.trim_matches(other).to_owned(), longest);
    text.trim_end_matches(other).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_truncated_between_two_characters() {
        assert_eq!(truncate("short".into(), 10), "short");
        assert_eq!(truncate("Straße".into(), 5), "Stra");
        assert_eq!(truncate("Straße".into(), 6), "Straß");
        assert_eq!(truncate("ß".into(), 0), "");
    }

    #[test]
    fn any_name_of_an_operator_becomes_a_valid_qualified_name() {
        for (given, expected) in [
            ("website/website", "website/website"),
            ("kubernetes.io/kubelet", "kubernetes.io/kubelet"),
            ("My Operator/Site_1", "my-operator/Site_1"),
            ("a/b/c", "a/b-c"),
            ("plain", "plain"),
            ("", "unknown"),
            ("/", "unknown"),
            ("../x", "x"),
            ("é/ü", "unknown"),
        ] {
            assert_eq!(qualified_name(given), expected, "{given}");
        }
        let long = format!("{0}/{0}", "x".repeat(300));
        assert_eq!(qualified_name(&long).len(), 253 + 1 + 63);
    }

    #[test]
    fn any_name_of_an_object_becomes_a_valid_name_of_an_event() {
        for (given, expected) in [
            ("web", "web.2a"),
            ("web.example.com", "web.example.com.2a"),
            ("system:node:A", "system-node-a.2a"),
            ("a.-b-.c", "a.b.c.2a"),
            ("", "event.2a"),
            ("::", "event.2a"),
        ] {
            assert_eq!(event_name(given, 0x2a), expected, "{given}");
        }
        let long = format!("{}.{}", "a".repeat(230), "b".repeat(22));
        let name = event_name(&long, u64::MAX);
        assert!(name.len() <= 253 && !name.contains(".."), "{name}");
    }
}
