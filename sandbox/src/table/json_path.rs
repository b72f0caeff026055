use std::fmt;

use serde_json::Value;

/// A simple JSON path: `.a.b`, `['a.b']`, `[0]`, `[-1]`, `[*]`, `[?(@.type=="Ready")]`, in any order. Surrounding
/// braces and a leading `$` are accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Each,
    Where {
        path: JsonPath,
        /// Without a comparison the path must only exist.
        equals: Option<(bool, Value)>,
    },
}

/// A malformed path: the reason, and the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPathError {
    problem: &'static str,
    rest: String,
}

impl fmt::Display for JsonPathError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at {:?}", self.problem, self.rest)
    }
}

impl std::error::Error for JsonPathError {}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// [`JsonPathError`] for everything that this simple form does not have: slices, unions, recursive descent, unbalanced brackets.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let text = text.trim();
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        let text = inner.unwrap_or(text);
        Self::steps(text.strip_prefix('$').unwrap_or(text))
    }

    fn steps(mut rest: &str) -> Result<Self, JsonPathError> {
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let fail = |problem| JsonPathError {
                problem,
                rest: rest.to_owned(),
            };
            if let Some(after) = rest.strip_prefix('[') {
                let end = closing(after).ok_or_else(|| fail("no closing bracket"))?;
                let (inside, after) = after.split_at(end);
                steps.push(bracket(inside.trim()).map_err(&fail)?);
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            let name = rest.strip_prefix('.').unwrap_or(rest);
            if rest == "." {
                break;
            }
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, after) = name.split_at(end);
            match name {
                "" if after.starts_with('[') => {}
                "" => return Err(fail("an empty name")),
                "*" => steps.push(Step::Each),
                name => steps.push(Step::Field(name.replace("\\", ""))),
            }
            rest = after;
        }
        Ok(Self(steps))
    }

    /// Every value at the path. Empty if a part of the path is missing.
    pub fn find<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![root];
        for step in &self.0 {
            found = found
                .into_iter()
                .flat_map(|value| step.from(value))
                .collect();
        }
        found
    }

    /// The first value at the path.
    pub fn first<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.find(root).into_iter().next()
    }
}

impl Step {
    fn from<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                let at = if *index < 0 { length + index } else { *index };
                let at = usize::try_from(at).ok();
                at.and_then(|at| items.get(at)).into_iter().collect()
            }
            Self::Each => children(value),
            Self::Where { path, equals } => children(value)
                .into_iter()
                .filter(|item| match (path.first(item), equals) {
                    (Some(found), Some((wanted, literal))) => (found == literal) == *wanted,
                    (found, None) => found.is_some(),
                    (None, Some(_)) => false,
                })
                .collect(),
        }
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

/// The position where the open bracket ends. Quotes and inner brackets are skipped.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inside: &str) -> Result<Step, &'static str> {
    if inside == "*" {
        return Ok(Step::Each);
    }
    if let Some(name) = quoted(inside) {
        return Ok(Step::Field(name.to_owned()));
    }
    if let Some(filter) = inside.strip_prefix("?(") {
        let filter = filter.strip_suffix(')').ok_or("a filter without end")?;
        return condition(filter.trim());
    }
    inside
        .parse()
        .map(Step::Index)
        .map_err(|_| "neither an index, a quoted name nor a filter")
}

fn condition(text: &str) -> Result<Step, &'static str> {
    let text = text
        .strip_prefix('@')
        .ok_or("a filter that does not begin with @")?;
    let operator = ["==", "!="]
        .into_iter()
        .find_map(|operator| Some((operator, text.split_once(operator)?)));
    let (path, equals) = match operator {
        None => (text, None),
        Some((operator, (path, literal))) => {
            let literal = literal.trim();
            let value = match quoted(literal) {
                Some(text) => Value::String(text.to_owned()),
                None => serde_json::from_str(literal).map_err(|_| "an unreadable literal")?,
            };
            (path, Some((operator == "==", value)))
        }
    };
    let path = JsonPath::steps(path.trim()).map_err(|error| error.problem)?;
    Ok(Step::Where { path, equals })
}

fn quoted(text: &str) -> Option<&str> {
    ['\'', '"']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn find(path: &str) -> Vec<Value> {
        let object = json!({
            "spec": {"replicas": 3, "a.b": "dotted", "items": [{"n": 1}, {"n": 2}]},
            "status": {"conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "Stalled", "status": "False"},
            ]},
        });
        let path = JsonPath::parse(path).unwrap();
        path.find(&object).into_iter().cloned().collect()
    }

    #[test]
    fn paths_find_the_values_they_name() {
        assert_eq!(find(".spec.replicas"), [json!(3)]);
        assert_eq!(find("{.spec.replicas}"), [json!(3)]);
        assert_eq!(find(".spec['a.b']"), [json!("dotted")]);
        assert_eq!(find(".spec.items[-1].n"), [json!(2)]);
        assert_eq!(find(".spec.items[*].n"), [json!(1), json!(2)]);
        assert_eq!(
            find(".status.conditions[?(@.type==\"Ready\")].status"),
            [json!("True")]
        );
        assert_eq!(
            find(".status.conditions[?(@.type!='Ready')].status"),
            [json!("False")]
        );
        assert!(find(".spec.nothing.here").is_empty() && find(".spec.items[7]").is_empty());
    }

    #[test]
    fn malformed_paths_are_refused() {
        for text in [".a[", ".a[x]", "..a", ".a[?(b==1)]", ".a[?(@.b==x)]"] {
            assert!(JsonPath::parse(text).is_err(), "{text}");
        }
    }
}
