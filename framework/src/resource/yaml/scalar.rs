use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use granit_parser::{ScalarStyle, Tag};

/// A value that is neither a list nor a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    /// The text, without quotes.
    pub(crate) text: String,
    /// Whether the text may mean a number, a boolean or null. A text in quotes never does.
    is_plain: bool,
}

/// The meaning of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    Null,
    Bool(bool),
    Int(i64),
    /// A whole number that does not fit into an `i64`.
    Uint(u64),
    /// A finite number with a fraction, or a whole one that does not fit into a `u64`.
    Float(f64),
    /// Infinite or NaN, which JSON does not have.
    NotFinite,
    Text,
}

impl Scalar {
    pub(super) const NULL: Self = Self {
        text: String::new(),
        is_plain: true,
    };

    /// Makes a scalar of its text, its style and its tag. Returns `None` if the text does not fit the tag.
    ///
    /// The tags of JSON's types and `!!binary` are known. With any other tag the scalar is text, as in kubectl.
    pub(super) fn new(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Option<Self> {
        let plain = |text: Cow<'_, str>, is_plain| Self {
            text: text.into_owned(),
            is_plain,
        };
        let Some(tag) = tag else {
            return Some(plain(text, style == ScalarStyle::Plain));
        };
        let meant = meaning(&text);
        let name = tag.suffix_in_namespace("tag:yaml.org,2002:");
        let fits = match name.as_deref() {
            Some("null") => meant == Meaning::Null,
            Some("bool") => matches!(meant, Meaning::Bool(_)),
            Some("int") => matches!(meant, Meaning::Int(_) | Meaning::Uint(_)),
            Some("float") => matches!(
                meant,
                Meaning::Int(_) | Meaning::Uint(_) | Meaning::Float(_) | Meaning::NotFinite
            ),
            Some("merge") if text == "<<" => true,
            Some("binary") => {
                let letters: String = text.split_ascii_whitespace().collect();
                let bytes = STANDARD.decode(letters).ok()?;
                return Some(plain(String::from_utf8(bytes).ok()?.into(), false));
            }
            _ => return Some(plain(text, false)),
        };
        fits.then(|| plain(text, true))
    }

    pub(super) fn meaning(&self) -> Meaning {
        match self.is_plain {
            true => meaning(&self.text),
            false => Meaning::Text,
        }
    }

    /// Whether it is the merge key.
    pub(super) fn is_merge(&self) -> bool {
        self.is_plain && self.text == "<<"
    }

    /// The scalar as the key of a mapping; `None` if it cannot be one. A number with a fraction keeps all its digits;
    /// kubectl keeps seven.
    pub(super) fn into_key(self) -> Option<String> {
        Some(match self.meaning() {
            Meaning::Null | Meaning::NotFinite | Meaning::Uint(_) => return None,
            Meaning::Bool(value) => value.to_string(),
            Meaning::Int(value) => value.to_string(),
            Meaning::Float(value) => value.to_string(),
            Meaning::Text => self.text,
        })
    }
}

/// The meaning of a text without quotes, by kubectl's form of YAML 1.1. It differs from the specification: `y` is true,
/// and `1:30` is text.
fn meaning(text: &str) -> Meaning {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Meaning::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Meaning::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Meaning::NotFinite,
        _ => match text.strip_prefix(['+', '-']).unwrap_or(text) {
            ".inf" | ".Inf" | ".INF" => Meaning::NotFinite,
            digits if begins_number(digits, digits.len() < text.len()) => {
                number(text).unwrap_or(Meaning::Text)
            }
            _ => Meaning::Text,
        },
    }
}

/// Whether a number may begin so. An underscore may be the first character after a sign.
fn begins_number(digits: &str, has_sign: bool) -> bool {
    digits.starts_with(|first: char| {
        first == '.' || first.is_ascii_digit() || first == '_' && has_sign
    })
}

fn number(text: &str) -> Option<Meaning> {
    // Underscores may separate digits, except in a number that begins with the point.
    let text = match text.starts_with('.') {
        true => text.to_owned(),
        false => text.replace('_', ""),
    };
    if let Some(whole) = whole(&text) {
        let uint = || u64::try_from(whole).ok().map(Meaning::Uint);
        if let Some(number) = i64::try_from(whole).ok().map(Meaning::Int).or_else(uint) {
            return Some(number);
        }
    }
    let float: f64 = text.parse().ok().filter(|_| is_decimal(&text))?;
    // kubectl converts `1.0` to the JSON number `1`, and writes all digits of a number below 10²¹.
    if float.fract() == 0.0 && float.abs() < 1e21 {
        let digits = float.to_string();
        let int = digits.parse().map(Meaning::Int);
        let whole = int.or_else(|_| digits.parse().map(Meaning::Uint));
        return Some(whole.unwrap_or(Meaning::Float(float)));
    }
    float.is_finite().then_some(Meaning::Float(float))
}

/// A whole number: binary, octal (with the prefix `0o` or `0`), decimal or hexadecimal.
fn whole(text: &str) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (digits.get(2..)?, 16),
        [b'0', b'o' | b'O', ..] => (digits.get(2..)?, 8),
        [b'0', b'b' | b'B', ..] => (digits.get(2..)?, 2),
        [b'0', _, ..] => (digits, 8),
        _ => (digits, 10),
    };
    // `from_str_radix` accepts a sign, which must not follow the prefix.
    let is_number = digits.chars().all(|digit| digit.is_digit(radix));
    let number = i128::from_str_radix(digits, radix)
        .ok()
        .filter(|_| is_number)?;
    Some(if is_negative { -number } else { number })
}

/// Whether the text can be a decimal number: digits, with an optional point and an optional exponent.
fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    text.starts_with(|first: char| first == '.' || first.is_ascii_digit())
        && text.contains(|letter: char| letter.is_ascii_digit())
        && text
            .chars()
            .all(|letter| matches!(letter, '0'..='9' | '.' | 'e' | 'E' | '+' | '-'))
}

#[cfg(test)]
mod tests {
    use super::{Meaning::*, *};

    /// The table was made with `kubectl label --local -o json`, which keeps fewer digits of numbers from 2⁶³ on.
    #[test]
    fn words_and_numbers_mean_what_they_mean_to_kubectl() {
        let table = [
            ("1", Int(1)),
            ("0x10", Int(16)),
            ("-0x10", Int(-16)),
            ("0X10", Int(16)),
            ("010", Int(8)),
            ("0o10", Int(8)),
            ("0b11", Int(3)),
            ("1_000", Int(1000)),
            ("1__0", Int(10)),
            ("_1", Text),
            ("+_1", Int(1)),
            ("-_1", Int(-1)),
            ("+_", Text),
            ("+1", Int(1)),
            ("-0", Int(0)),
            ("08", Int(8)),
            ("0x", Text),
            ("1.5", Float(1.5)),
            ("1_0.5", Float(10.5)),
            (".5", Float(0.5)),
            (".5_0", Text),
            ("1.", Int(1)),
            ("1.0", Int(1)),
            ("0.10", Float(0.1)),
            ("1e3", Int(1000)),
            ("12e03", Int(12000)),
            ("-1.5E+3", Int(-1500)),
            ("1e-3", Float(0.001)),
            ("1e400", Text),
            ("1e16", Int(10_000_000_000_000_000)),
            ("1e19", Uint(10_000_000_000_000_000_000)),
            ("1e21", Float(1e21)),
            ("9223372036854775807", Int(i64::MAX)),
            ("-9223372036854775808", Int(i64::MIN)),
            ("9223372036854775808", Uint(1 << 63)),
            ("18446744073709551615", Uint(u64::MAX)),
            ("18446744073709551616", Float(18_446_744_073_709_551_616.0)),
            ("0xFFFFFFFFFFFFFFFFFF", Text),
            ("2026-01-01", Text),
            ("1:30", Text),
            ("1.2.3", Text),
            ("1e", Text),
            ("+", Text),
            (".", Text),
            ("+.5", Float(0.5)),
            ("0x+1", Text),
            (".inf", NotFinite),
            ("-.Inf", NotFinite),
            (".nan", NotFinite),
            ("tRue", Text),
            ("~", Null),
            ("", Null),
            ("NULL", Null),
            ("nUll", Text),
            ("a", Text),
            ("1a", Text),
            ("10Gi", Text),
            ("100m", Text),
        ];
        for (text, expected) in table {
            assert_eq!(meaning(text), expected, "{text:?}");
        }
        let words = [("y", "n"), ("yes", "no"), ("true", "false"), ("on", "off")];
        for (yes, no) in words {
            for (text, expected) in [(yes, true), (no, false)] {
                let (first, rest) = text.split_at(1);
                let begun = first.to_uppercase() + rest;
                for text in [text, &begun, &text.to_uppercase()] {
                    assert_eq!(meaning(text), Bool(expected), "{text:?}");
                }
            }
        }
    }
}
