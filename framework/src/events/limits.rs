//! What the API takes for the fields of an Event, and how what it does not take is made to fit: an event that is
//! told a little differently is worth more than one that is refused.

/// The longest reason and action.
pub(super) const WORD: usize = 128;
/// The longest note.
pub(super) const NOTE: usize = 1024;
/// The longest name of an object, and of the part of a qualified name before the slash.
const SUBDOMAIN: usize = 253;
/// The longest part of a qualified name after the slash.
const QUALIFIED: usize = 63;

/// `text` of at most so many bytes, cut between two characters.
pub(super) fn cut(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        let end = (0..=longest).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
    }
    text
}

/// `prefix/name` or `name` as the API wants a reporting controller: what may not stand there becomes a dash.
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

/// The name of an Event about an object: the object's own, as far as it is fit for one, and the time in hex as in
/// client-go.
pub(super) fn event_name(object: &str, stamp: u64) -> String {
    let stamp = format!(".{stamp:x}");
    match subdomain(object, SUBDOMAIN - stamp.len()) {
        Some(object) => object + &stamp,
        None => format!("event{stamp}"),
    }
}

/// `text` as a DNS subdomain (RFC 1123), if there is anything in it that can stand there.
fn subdomain(text: &str, longest: usize) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let labels = text
        .split('.')
        .map(|label| masked(label, longest, |c| c.is_ascii_alphanumeric() || c == '-'))
        .filter(|label| !label.is_empty());
    let joined = labels.collect::<Vec<_>>().join(".");
    let cut = cut(joined, longest);
    let trimmed = cut.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// `text` with a dash for each character that is not `allowed`, beginning and ending with a letter or a digit.
fn masked(text: &str, longest: usize, allowed: impl Fn(char) -> bool) -> String {
    let other = |c: char| !c.is_ascii_alphanumeric();
    let text = text.replace(|c| !allowed(c), "-");
    let text = cut(text.trim_matches(other).to_owned(), longest);
    text.trim_end_matches(other).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_two_characters() {
        assert_eq!(cut("short".into(), 10), "short");
        assert_eq!(cut("Straße".into(), 5), "Stra");
        assert_eq!(cut("Straße".into(), 6), "Straß");
        assert_eq!(cut("ß".into(), 0), "");
    }

    #[test]
    fn a_reporting_controller_is_a_qualified_name_whatever_the_operator_is_called() {
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
    fn the_name_of_an_event_is_a_subdomain_whatever_the_object_is_called() {
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
