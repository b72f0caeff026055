use std::collections::BTreeSet;

use http::{
    Response,
    header::{HeaderName, HeaderValue},
};

use super::respond::Body;

const WARNING: HeaderName = HeaderName::from_static("warning");
/// The texts of an answer have this many characters in total. If there are more, each text is cut.
const TOTAL: usize = 4 * 1024;
/// A text that is cut has this many characters.
const CUT: usize = 256;

/// The texts of an answer, in their order.
#[derive(Clone, Default)]
struct Warnings(Vec<String>);

/// Adds texts behind those of the answer.
pub(super) fn add(response: &mut Response<Body>, texts: &[String]) {
    let warnings = response
        .extensions_mut()
        .get_or_insert_default::<Warnings>();
    warnings.0.extend_from_slice(texts);
}

/// Adds a text in front of those of the answer: that of a deprecated kind, which is known before anything else.
pub(super) fn add_first(response: &mut Response<Body>, text: &str) {
    let warnings = response
        .extensions_mut()
        .get_or_insert_default::<Warnings>();
    warnings.0.insert(0, text.to_owned());
}

/// Writes the texts of the answer as `Warning` headers, each once, with the limits of kube-apiserver.
pub(super) fn write(response: &mut Response<Body>) {
    let Some(Warnings(mut texts)) = response.extensions_mut().remove() else {
        return;
    };
    let mut known = BTreeSet::new();
    // A text with a control character is left out: a warning is only a help.
    texts.retain(|text| {
        let is_shown = !text.is_empty() && !text.contains(char::is_control);
        is_shown && known.insert(text.clone())
    });
    for text in limited(&texts) {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// The texts, if they fit. Otherwise each is cut: those up to the first that did not fit, and then others as long as there is room.
fn limited(texts: &[String]) -> Vec<&str> {
    let mut total = 0;
    let is_beyond = |text: &String| {
        total += text.chars().count();
        total > TOTAL
    };
    let Some(first_beyond) = texts.iter().position(is_beyond) else {
        return texts.iter().map(String::as_str).collect();
    };
    let (mut cut, mut total) = (Vec::new(), 0);
    for (index, text) in texts.iter().enumerate() {
        if index > first_beyond && total >= TOTAL {
            break;
        }
        let end = text
            .char_indices()
            .nth(CUT)
            .map_or(text.len(), |(end, _)| end);
        let short = text.get(..end).unwrap_or(text);
        total += short.chars().count();
        cut.push(short);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::respond;

    #[test]
    fn each_text_is_a_header_once_and_that_of_the_kind_is_the_first() {
        let mut response = respond::bytes(200, "text/plain", "");
        let texts = ["a \"b\" \\ \u{e9}", "", "c\n", "d", "first", "d"];
        add(&mut response, &texts.map(str::to_owned));
        add_first(&mut response, "first");
        write(&mut response);
        let headers = response.headers().get_all(WARNING).iter();
        let headers: Vec<_> = headers
            .map(|value| std::str::from_utf8(value.as_bytes()).unwrap())
            .collect();
        let expected = [
            r#"299 - "first""#,
            "299 - \"a \\\"b\\\" \\\\ \u{e9}\"",
            r#"299 - "d""#,
        ];
        assert_eq!(headers, expected);
    }

    fn lengths(texts: &[String]) -> Vec<usize> {
        let texts = limited(texts).into_iter();
        texts.map(|text| text.chars().count()).collect()
    }

    #[test]
    fn texts_are_cut_only_if_they_do_not_fit_together() {
        let text = |count: usize| "\u{e9}".repeat(count);
        assert_eq!(lengths(&[text(4000), text(96)]), [4000, 96]);
        assert_eq!(lengths(&[text(4000), text(97), text(9)]), [256, 97, 9]);
        // Others follow as long as less than 4096 characters are there.
        let many: Vec<_> = (0..30).map(|_| text(300)).collect();
        assert_eq!(lengths(&many), [256; 16]);
        // Those before the first one that does not fit all stay.
        let many: Vec<_> = (0..40).map(|_| text(200)).collect();
        assert_eq!(lengths(&many), [200; 21]);
    }
}
