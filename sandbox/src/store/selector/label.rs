use std::collections::BTreeSet;

use serde_json::Value;

use super::lexer::{Token, tokens};
use crate::names;

/// A label selector: every requirement must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    /// Also holds if the label is missing.
    NotIn(BTreeSet<String>),
    Exists,
    Missing,
    Greater(i64),
    Less(i64),
}

struct Parser {
    tokens: std::vec::IntoIter<Token>,
}

impl LabelSelector {
    /// Reads a selector.
    ///
    /// # Errors
    /// The text of the API server if the selector is malformed.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            tokens: tokens(text).into_iter(),
        };
        let mut requirements = Vec::new();
        let mut first = true;
        loop {
            match parser.peek() {
                Token::End if first => break,
                Token::Word(_) | Token::In | Token::NotIn => {}
                token if token.is("!") => {}
                token if first => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        token.text()
                    ));
                }
                token => {
                    return Err(format!(
                        "found '{}', expected: identifier after ','",
                        token.text()
                    ));
                }
            }
            let requirement = parser
                .requirement()
                .map_err(|error| format!("unable to parse requirement: {error}"))?;
            requirements.push(requirement);
            first = false;
            match parser.next() {
                Token::End => break,
                token if token.is(",") => {}
                token => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        token.text()
                    ));
                }
            }
        }
        Ok(Self { requirements })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        if self.requirements.is_empty() {
            return true;
        }
        let labels = object.pointer("/metadata/labels");
        self.requirements.iter().all(|requirement| {
            let value = labels
                .and_then(|labels| labels.get(&requirement.key))
                .and_then(Value::as_str);
            requirement.test.holds(value)
        })
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::Greater(bound) => number(value).is_some_and(|number| number > *bound),
            Self::Less(bound) => number(value).is_some_and(|number| number < *bound),
        }
    }
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.as_slice().first().unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        self.tokens.next().unwrap_or(Token::End)
    }

    /// A word; `in` and `notin` are words here, too.
    fn word(&mut self) -> Result<String, Token> {
        match self.next() {
            Token::Word(word) => Ok(word),
            Token::In => Ok("in".into()),
            Token::NotIn => Ok("notin".into()),
            other => Err(other),
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek().is("!");
        if negated {
            self.next();
        }
        let key = self
            .word()
            .map_err(|token| format!("found '{}', expected: identifier", token.text()))?;
        let wrong = names::qualified_name(&key);
        if !wrong.is_empty() {
            return Err(format!("key: Invalid value: {key:?}: {}", wrong.join("; ")));
        }
        if negated {
            let test = Test::Missing;
            return Ok(Requirement { key, test });
        }
        if *self.peek() == Token::End || self.peek().is(",") {
            let test = Test::Exists;
            return Ok(Requirement { key, test });
        }
        let test = match self.next() {
            Token::In => Test::In(self.values(&key)?),
            Token::NotIn => Test::NotIn(self.values(&key)?),
            token if token.is("=") || token.is("==") => Test::In([self.value(&key)?].into()),
            token if token.is("!=") => Test::NotIn([self.value(&key)?].into()),
            token if token.is(">") => Test::Greater(self.integer(&key)?),
            token if token.is("<") => Test::Less(self.integer(&key)?),
            token => {
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    token.text()
                ));
            }
        };
        Ok(Requirement { key, test })
    }

    /// The value after `=`. No value is the empty string.
    fn value(&mut self, key: &str) -> Result<String, String> {
        if *self.peek() == Token::End || self.peek().is(",") {
            return Ok(String::new());
        }
        let value = self
            .word()
            .map_err(|token| format!("found '{}', expected: identifier", token.text()))?;
        checked(key, value)
    }

    fn integer(&mut self, key: &str) -> Result<i64, String> {
        let value = self.value(key)?;
        value.parse().map_err(|_| {
            format!("values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
        })
    }

    fn values(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        let open = self.next();
        if !open.is("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = BTreeSet::new();
        loop {
            if self.peek().is(",") || self.peek().is(")") {
                values.insert(String::new());
            } else {
                let value = self.word().map_err(|token| {
                    format!("found '{}', expected: ',', ')' or identifier", token.text())
                })?;
                values.insert(checked(key, value)?);
            }
            match self.next() {
                token if token.is(",") => {}
                token if token.is(")") => return Ok(values),
                token => return Err(format!("found '{}', expected: ',' or ')'", token.text())),
            }
        }
    }
}

fn checked(key: &str, value: String) -> Result<String, String> {
    let wrong = names::label_value(&value);
    if wrong.is_empty() {
        Ok(value)
    } else {
        Err(format!(
            "values[0][{key}]: Invalid value: {value:?}: {}",
            wrong.join("; ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_operator_selects_as_documented() {
        let object = json!({"metadata": {"labels": {"app": "web", "tier": "front", "n": "5", "in": "x", "empty": ""}}});
        for (selector, expected) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("other", false),
            ("!other", true),
            ("app=web", true),
            ("app==web,tier=front", true),
            ("app = web , tier = back", false),
            ("app!=web", false),
            ("other!=web", true),
            ("app in (web, db)", true),
            ("app in (db)", false),
            ("app notin (db)", true),
            ("other notin (db)", true),
            ("app notin (web,db),tier", false),
            ("n>4,n<6", true),
            ("n>5", false),
            ("in in (x)", true),
            ("empty=", true),
            ("empty in (,a)", true),
        ] {
            assert_eq!(
                LabelSelector::parse(selector).map(|parsed| parsed.matches(&object)),
                Ok(expected),
                "{selector}"
            );
        }
    }

    #[test]
    fn wrong_selectors_are_refused_with_the_texts_of_the_server() {
        for (selector, expected) in [
            (
                ",",
                "found ',', expected: !, identifier, or 'end of string'",
            ),
            ("a,", "found '', expected: identifier after ','"),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "a in b",
                "unable to parse requirement: found 'b' expected: '('",
            ),
            (
                "a in (b",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ] {
            assert_eq!(
                LabelSelector::parse(selector),
                Err(expected.into()),
                "{selector}"
            );
        }
        assert!(LabelSelector::parse("-a=b").is_err());
        assert!(LabelSelector::parse("a=b!").is_err());
    }
}
