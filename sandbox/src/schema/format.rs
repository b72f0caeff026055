//! `format` and `pattern`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::LazyLock;

use regex::Regex;

use super::node::{Node, SchemaType};

/// Whether the server knows a format for values of this type. It ignores others.
pub(super) fn is_known(format: &str, node: &Node) -> bool {
    match node.kind {
        Some(SchemaType::Integer) => matches!(format, "int32" | "int64"),
        Some(SchemaType::Number) => matches!(format, "float" | "double"),
        None | Some(SchemaType::String) => {
            TEXTS.contains(&format.replace('-', "").as_str()) || NAMES.contains(&format)
        }
        _ => false,
    }
}

/// Formats of strings, without dashes.
const TEXTS: [&str; 24] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
];
/// Formats of object names.
const NAMES: [&str; 2] = ["k8s-short-name", "k8s-long-name"];

/// Whether the text has this format. A format that the server does not know allows everything.
pub(super) fn is_valid(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => is_date_time(text),
        "date" => text.len() == 10 && jiff::civil::Date::from_str(text).is_ok(),
        "duration" => is_duration(text),
        "byte" => is_base64(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "ipv4" => Ipv4Addr::from_str(text).is_ok(),
        "ipv6" => Ipv6Addr::from_str(text).is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "email" => EMAIL.is_match(text),
        "hostname" => is_hostname(text),
        "uri" => is_uri(text),
        "hexcolor" => HEX_COLOR.is_match(text),
        "k8s-short-name" => text.len() <= 63 && SHORT_NAME.is_match(text),
        "k8s-long-name" => text.len() <= 253 && text.split('.').all(|p| SHORT_NAME.is_match(p)),
        _ => true,
    }
}

/// Whether an integer fits the format.
pub(super) fn fits(format: &str, number: f64, integer: Option<i64>) -> bool {
    match format {
        "int32" => integer.is_some_and(|i| i32::try_from(i).is_ok()),
        "int64" => integer.is_some(),
        "uint32" => integer.is_some_and(|i| u32::try_from(i).is_ok()),
        "float" => number.abs() <= f64::from(f32::MAX),
        _ => true,
    }
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("a constant pattern"));
    };
}

pattern!(EMAIL, r"^[^@\s<>()\[\],;:]+@[A-Za-z0-9\-.\[\]:]+$");
pattern!(HEX_COLOR, r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
pattern!(SHORT_NAME, r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
pattern!(
    DURATION,
    r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$"
);
pattern!(
    DURATION_WORDS,
    r"^[0-9]+\s*(ns|us|µs|ms|s|m|h|d|w|nanoseconds?|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|wks?)$"
);

fn is_date_time(text: &str) -> bool {
    // jiff also reads times without seconds, which RFC 3339 does not allow.
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= 20
        && matches!(bytes.get(10), Some(b'T' | b't'))
        && bytes.get(16) == Some(&b':')
        && !text.contains('[');
    shaped && jiff::Timestamp::from_str(text).is_ok()
}

fn is_duration(text: &str) -> bool {
    text == "0" || DURATION.is_match(text) || DURATION_WORDS.is_match(text)
}

fn is_base64(text: &str) -> bool {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .is_ok()
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let hex: Vec<char> = text.chars().filter(|c| *c != '-').collect();
    let shaped = match text.len() {
        32 => true,
        36 => [8, 13, 18, 23]
            .iter()
            .all(|i| text.as_bytes().get(*i) == Some(&b'-')),
        _ => false,
    };
    let variant = hex
        .get(16)
        .is_some_and(|c| "89abAB".contains(*c) || version == Some('3') || version.is_none());
    shaped
        && hex.len() == 32
        && hex.iter().all(char::is_ascii_hexdigit)
        && version.is_none_or(|v| hex.get(12) == Some(&v))
        && variant
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let plain = !bits.is_empty()
        && bits.len() <= 3
        && bits.bytes().all(|b| b.is_ascii_digit())
        && (bits == "0" || !bits.starts_with('0'));
    match (IpAddr::from_str(address), bits.parse::<u8>()) {
        (Ok(IpAddr::V4(_)), Ok(bits)) => plain && bits <= 32,
        (Ok(IpAddr::V6(_)), Ok(bits)) => plain && bits <= 128,
        _ => false,
    }
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize| -> Option<usize> {
        let mut count = 0;
        for part in text.split(separator) {
            if part.len() != width || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return None;
            }
            count += width / 2;
        }
        Some(count)
    };
    [groups(':', 2), groups('-', 2), groups('.', 4)]
        .into_iter()
        .flatten()
        .any(|bytes| matches!(bytes, 6 | 8 | 20))
}

/// Whether the text is one label with at most one dash, or labels that end in a name of at least two letters.
fn is_hostname(text: &str) -> bool {
    let symbol = |c: char| c.is_alphanumeric() && !c.is_numeric() || c.is_ascii_digit();
    let Some((labels, last)) = text.rsplit_once('.') else {
        let mut letters = text.chars();
        let first = letters.next().is_some_and(symbol);
        let rest = letters.as_str();
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        return first && rest.chars().all(symbol) && text.len() <= 63;
    };
    let letter = |c: char| c.is_alphabetic();
    let ends = (2..=63).contains(&last.chars().count()) && last.chars().all(letter);
    ends && text.len() <= 255
        && labels.split('.').all(|label| {
            let inner = |c: char| symbol(c) || c == '-';
            (1..=63).contains(&label.len())
                && label.starts_with(symbol)
                && label.ends_with(symbol)
                && label.chars().all(inner)
        })
}

fn is_uri(text: &str) -> bool {
    // As Go's ParseRequestURI: absolute, or a rooted path.
    if text.is_empty() || text.contains(char::is_whitespace) || text.contains(char::is_control) {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && (rest.starts_with('/') || !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_checked_as_the_server_checks_them() {
        let table = [
            ("date-time", "2026-01-02T03:04:05Z", true),
            ("date-time", "2026-01-02T03:04:05.678+02:00", true),
            ("date-time", "2026-01-02", false),
            ("date-time", "2026-01-02T03:04Z", false),
            ("date", "2026-01-02", true),
            ("date", "2026-13-02", false),
            ("duration", "1h30m", true),
            ("duration", "1.5s", true),
            ("duration", "soon", false),
            ("byte", "aGk=", true),
            ("byte", "a", false),
            ("uuid", "7a8d3d5c-6f0e-4d0b-8f0a-0a0b0c0d0e0f", true),
            ("uuid", "7a8d3d5c", false),
            ("uuid4", "7a8d3d5c-6f0e-3d0b-8f0a-0a0b0c0d0e0f", false),
            ("ipv4", "10.0.0.1", true),
            ("ipv4", "10.0.0.256", false),
            ("ipv6", "::1", true),
            ("ipv6", "10.0.0.1", false),
            ("cidr", "10.0.0.0/8", true),
            ("cidr", "10.0.0.0/33", false),
            ("mac", "00:00:5e:00:53:01", true),
            ("mac", "00:00:5e", false),
            ("email", "a@example.com", true),
            ("email", "a", false),
            ("hostname", "a.example.com", true),
            ("hostname", "-a", false),
            ("uri", "https://example.com/a?b", true),
            ("uri", "not a uri", false),
            ("no-such-format", "anything", true),
        ];
        for (format, text, expected) in table {
            assert_eq!(is_valid(format, text), expected, "{format}: {text}");
        }
    }
}
