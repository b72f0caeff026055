/// Replaces what is no character by U+FFFD, as Go's decoder does: bytes that are not UTF-8, and halves of a pair of surrogates. Returns `None` if there is
/// nothing to replace.
///
/// The text has the syntax of JSON.
pub(super) fn repaired(text: &[u8]) -> Option<Vec<u8>> {
    let mut valid = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        valid.push_str(chunk.valid());
        let invalid = chunk.invalid().iter();
        valid.extend(invalid.map(|_| char::REPLACEMENT_CHARACTER));
    }
    let mut repaired = String::with_capacity(valid.len());
    let mut rest = valid.as_str();
    // Outside of strings JSON has no backslash.
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let (shown, length) = match surrogate(escape) {
            Some(Half::High) if surrogate(&escape[LENGTH..]) == Some(Half::Low) => {
                (&escape[..2 * LENGTH], 2 * LENGTH)
            }
            Some(_) => ("\\ufffd", LENGTH),
            // The character after the backslash may be one, too.
            None => {
                let end = escape
                    .char_indices()
                    .nth(2)
                    .map_or(escape.len(), |(at, _)| at);
                (&escape[..end], end)
            }
        };
        repaired.push_str(shown);
        rest = &escape[length..];
    }
    repaired.push_str(rest);
    (repaired.as_bytes() != text).then(|| repaired.into_bytes())
}

/// The length of `\ud800`.
const LENGTH: usize = 6;

#[derive(PartialEq)]
enum Half {
    High,
    Low,
}

/// The half of a pair that the escape at the beginning of a text is.
fn surrogate(text: &str) -> Option<Half> {
    let digits = text.get(..LENGTH)?.strip_prefix("\\u")?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}
