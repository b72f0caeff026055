use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::resource::dns::is_subdomain;

/// One requirement of a [`Selector`](super::Selector): a label's key, an operator and values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// How the label is compared.
    pub operator: Operator,
    /// The values to compare with. Empty for [`Operator::Exists`] and [`Operator::DoesNotExist`].
    pub values: BTreeSet<String>,
}

/// How a [`Requirement`] compares a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// The label exists and its value is one of the values.
    In,
    /// The label is missing, or its value is not one of the values.
    NotIn,
    /// The label exists.
    Exists,
    /// The label is missing.
    DoesNotExist,
    /// The label exists and is an integer greater than the value.
    GreaterThan,
    /// The label exists and is an integer less than the value.
    LessThan,
}

impl Requirement {
    /// Whether the requirement holds for `labels`.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let label = labels.get(&self.key);
        let compare = |wanted: fn(i64, i64) -> bool| {
            let label = label.and_then(|label| label.parse().ok());
            let bound = self.values.first().and_then(|value| value.parse().ok());
            label
                .zip(bound)
                .is_some_and(|(label, bound)| wanted(label, bound))
        };
        match self.operator {
            Operator::In => label.is_some_and(|label| self.values.contains(label)),
            Operator::NotIn => label.is_none_or(|label| !self.values.contains(label)),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => compare(|label, bound| label > bound),
            Operator::LessThan => compare(|label, bound| label < bound),
        }
    }

    /// Checks that the API server would accept the requirement. The error says what is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        check_key(&self.key).map_err(|problem| format!("the key `{}` {problem}", self.key))?;
        for value in &self.values {
            check_name(value, true)
                .map_err(|problem| format!("the value `{value}` of `{}` {problem}", self.key))?;
        }
        let one_integer = || {
            let mut values = self.values.iter();
            let first = values
                .next()
                .is_some_and(|value| value.parse::<i64>().is_ok());
            first && values.next().is_none()
        };
        match self.operator {
            Operator::In | Operator::NotIn if self.values.is_empty() => {
                Err(format!("`{}` needs at least one value", self.key))
            }
            Operator::Exists | Operator::DoesNotExist if !self.values.is_empty() => Err(format!(
                "`{}` must have no values, because the operator only tests whether the label exists",
                self.key
            )),
            Operator::GreaterThan | Operator::LessThan if !one_integer() => Err(format!(
                "`{}` can only be compared with one integer",
                self.key
            )),
            _ => Ok(()),
        }
    }
}

/// The syntax of kubectl's `-l`. A key or value that is not a valid label is in quotes, so that the API server refuses it,
/// and a comma in it never begins another requirement.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = Quoted(&self.key, check_key(&self.key).is_ok());
        let value = |value| Quoted(value, check_name(value, true).is_ok());
        let first = self.values.first().map_or("", String::as_str);
        match (self.operator, self.values.len()) {
            (Operator::Exists, _) => write!(f, "{key}"),
            (Operator::DoesNotExist, _) => write!(f, "!{key}"),
            (Operator::GreaterThan, _) => write!(f, "{key}>{}", value(first)),
            (Operator::LessThan, _) => write!(f, "{key}<{}", value(first)),
            (Operator::In, 1) => write!(f, "{key}={}", value(first)),
            (Operator::NotIn, 1) => write!(f, "{key}!={}", value(first)),
            (Operator::In | Operator::NotIn, _) => {
                let word = if self.operator == Operator::In {
                    "in"
                } else {
                    "notin"
                };
                write!(f, "{key} {word} (")?;
                for (at, one) in self.values.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(f, "{comma}{}", value(one))?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A text, in quotes unless it is a valid label.
struct Quoted<'a>(&'a str, bool);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.1 {
            f.write_str(self.0)
        } else {
            write!(f, "{:?}", self.0)
        }
    }
}

/// Checks apimachinery's rule for a qualified name: a name, optionally after a DNS subdomain and `/`.
pub(crate) fn check_key(key: &str) -> Result<(), &'static str> {
    match key.split_once('/') {
        None => check_name(key, false),
        Some((prefix, name)) => {
            if !is_subdomain(prefix) {
                return Err("must have a lower-case DNS name before the `/`");
            }
            check_name(name, false)
        }
    }
}

fn check_name(name: &str, may_be_empty: bool) -> Result<(), &'static str> {
    let inner = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    let outer = |letter: Option<&u8>| letter.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return if may_be_empty {
            Ok(())
        } else {
            Err("must not be empty")
        };
    }
    if bytes.len() > 63 {
        return Err("must have at most 63 characters");
    }
    if bytes.iter().all(|letter| inner(*letter)) && outer(bytes.first()) && outer(bytes.last()) {
        Ok(())
    } else {
        Err(
            "must consist of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
        )
    }
}
