use std::{fmt, str::FromStr};

use super::SelectorError;

/// Selects objects by their fields: all terms must hold. The default selects all objects.
///
/// The server decides which fields of a kind are allowed: always `metadata.name` and `metadata.namespace`, some more for
/// built-in kinds, and the `selectableFields` of a custom kind's definition.
///
/// ```
/// use pilothouse::resource::FieldSelector;
///
/// let there = FieldSelector::default().eq("spec.nodeName", "node-1").not_eq("status.phase", "Failed");
/// assert_eq!(there.to_string(), "spec.nodeName=node-1,status.phase!=Failed");
/// assert_eq!(FieldSelector::default().eq("spec.path", "a=b,c").to_string(), r"spec.path=a\=b\,c");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    /// The terms. All of them must hold.
    pub terms: Vec<FieldTerm>,
}

/// One term of a [`FieldSelector`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldTerm {
    /// The field, such as `spec.nodeName`.
    pub field: String,
    /// Whether the field must be equal to the value (`=`) or must not be (`!=`).
    pub is_equal: bool,
    /// The value.
    pub value: String,
}

impl FieldSelector {
    /// Requires that the field is `value`.
    #[must_use]
    pub fn eq(self, field: impl Into<String>, value: impl Into<String>) -> Self {
        self.and(field, true, value)
    }

    /// Requires that the field is not `value`.
    #[must_use]
    pub fn not_eq(self, field: impl Into<String>, value: impl Into<String>) -> Self {
        self.and(field, false, value)
    }

    /// Whether the selector selects an object. `value_of` returns the value of a field; `None` counts as the empty string,
    /// as it does for the API server.
    pub fn matches<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.terms
            .iter()
            .all(|term| (value_of(&term.field).unwrap_or("") == term.value) == term.is_equal)
    }

    fn and(mut self, field: impl Into<String>, equal: bool, value: impl Into<String>) -> Self {
        self.terms.push(FieldTerm {
            field: field.into(),
            is_equal: equal,
            value: value.into(),
        });
        self
    }
}

/// The syntax of kubectl's `--field-selector`, with `\`, `,` and `=` in values escaped.
impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let equal = if term.is_equal { "=" } else { "!=" };
            write!(f, "{comma}{}{equal}", term.field)?;
            for letter in term.value.chars() {
                if matches!(letter, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// For the parameters of a list or a watch, which also accept text.
impl From<FieldSelector> for String {
    fn from(selector: FieldSelector) -> Self {
        selector.to_string()
    }
}

/// Parses the syntax of kubectl's `--field-selector`, as apimachinery's `fields.ParseSelector` does.
impl FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let wrong = |problem: String| SelectorError::new(text, problem);
        let mut selector = Self::default();
        for term in terms(text).into_iter().filter(|term| !term.is_empty()) {
            let (field, equal, value) = split(term).ok_or_else(|| {
                wrong(format!(
                    "`{term}` is not of the form `field=value` or `field!=value`"
                ))
            })?;
            let value = unescape(value).map_err(|problem| wrong(format!("`{term}`: {problem}")))?;
            selector = selector.and(field, equal, value);
        }
        Ok(selector)
    }
}

/// The parts between commas. A comma after `\` does not separate.
fn terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(text.get(start..).unwrap_or_default());
    terms
}

/// The field, whether it must be equal, and the value, which is still escaped.
fn split(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.find('=')?;
    let (before, after) = (term.get(..at)?, term.get(at + 1..)?);
    if let Some(field) = before.strip_suffix('!') {
        return Some((field, false, after));
    }
    Some((before, true, after.strip_prefix('=').unwrap_or(after)))
}

fn unescape(text: &str) -> Result<String, &'static str> {
    let mut value = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => value.push(escaped),
                _ => return Err("`\\` must be followed by `\\`, `,` or `=`"),
            },
            '=' => return Err("write `=` in a value as `\\=`"),
            _ => value.push(letter),
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_parses_as_in_apimachinery() {
        for (text, written) in [
            ("", ""),
            (",", ""),
            ("a=b", "a=b"),
            ("a==b,c!=d", "a=b,c!=d"),
            ("a=", "a="),
            (r"a=b\,c\=d\\e,f=g", r"a=b\,c\=d\\e,f=g"),
        ] {
            let read: FieldSelector = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read.to_string(), written, "{text}");
        }
        let one: FieldSelector = r"a=b\,c\=d\\e".parse().unwrap();
        assert_eq!(one.terms[0].value, r"b,c=d\e");
    }

    #[test]
    fn a_selector_that_the_server_would_refuse_is_an_error_that_names_the_term() {
        for (text, problem) in [
            (
                "a",
                "`a` is not of the form `field=value` or `field!=value`",
            ),
            (
                "x=y,a in (b)",
                "`a in (b)` is not of the form `field=value` or `field!=value`",
            ),
            (r"a=b\", r"`a=b\`: `\` must be followed by `\`, `,` or `=`"),
            (
                r"a=b\c",
                r"`a=b\c`: `\` must be followed by `\`, `,` or `=`",
            ),
            ("a=b=c", r"`a=b=c`: write `=` in a value as `\=`"),
        ] {
            assert_eq!(text.parse::<FieldSelector>().unwrap_err().problem, problem);
        }
    }

    #[test]
    fn a_missing_field_counts_as_empty() {
        let value_of = |field: &str| (field == "a").then_some("b");
        for (text, meant) in [("a=b", true), ("a!=b", false), ("c=", true), ("c!=d", true)] {
            let selector: FieldSelector = text.parse().unwrap();
            assert_eq!(selector.matches(value_of), meant, "{text}");
        }
    }
}
