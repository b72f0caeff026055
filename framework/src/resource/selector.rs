use std::{collections::BTreeMap, fmt, str::FromStr};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::{Labels, Operator, Requirement, SelectorError};

/// Which objects are meant, by their labels: all requirements must hold. The default means all.
///
/// It is written as kubectl's `-l`, made from a `LabelSelector` of an object, or put together here.
/// Putting together never fails: what no label may be is told by [`check`](Self::check), and by the
/// request that carries the selector, before it is sent.
///
/// ```
/// use pilothouse::resource::Selector;
///
/// let front = Selector::default().eq("app", "web").any_of("tier", ["front", "edge"]).absent("canary");
/// assert_eq!(front.to_string(), "app=web,tier in (edge,front),!canary");
/// assert_eq!(front, "app=web, tier in (front, edge), !canary".parse()?);
///
/// let labels = [("app", "web"), ("tier", "edge")].map(|(k, v)| (k.to_owned(), v.to_owned()));
/// assert!(front.matches(&labels.into()));
/// # Ok::<(), pilothouse::resource::SelectorError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    /// What must hold.
    pub requirements: Vec<Requirement>,
}

impl Selector {
    /// The label is there and is `value`.
    #[must_use]
    pub fn eq(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.and(key, Operator::In, [value])
    }

    /// The label is not there or is not `value`.
    #[must_use]
    pub fn not_eq(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.and(key, Operator::NotIn, [value])
    }

    /// The label is there and is one of `values`.
    #[must_use]
    pub fn any_of<V: Into<String>>(
        self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.and(key, Operator::In, values)
    }

    /// The label is not there or is none of `values`.
    #[must_use]
    pub fn none_of<V: Into<String>>(
        self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.and(key, Operator::NotIn, values)
    }

    /// The label is there.
    #[must_use]
    pub fn exists(self, key: impl Into<String>) -> Self {
        self.and(key, Operator::Exists, [""; 0])
    }

    /// The label is not there.
    #[must_use]
    pub fn absent(self, key: impl Into<String>) -> Self {
        self.and(key, Operator::DoesNotExist, [""; 0])
    }

    /// The label is an integer greater than `value`.
    #[must_use]
    pub fn greater_than(self, key: impl Into<String>, value: u64) -> Self {
        self.and(key, Operator::GreaterThan, [value.to_string()])
    }

    /// The label is an integer less than `value`.
    #[must_use]
    pub fn less_than(self, key: impl Into<String>, value: u64) -> Self {
        self.and(key, Operator::LessThan, [value.to_string()])
    }

    /// Whether an object with these labels is meant.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|one| one.matches(labels))
    }

    /// Whether the API server would take it.
    ///
    /// # Errors
    /// The first requirement that no labels can be asked for.
    pub fn check(&self) -> Result<(), SelectorError> {
        self.requirements.iter().try_for_each(|one| {
            one.check()
                .map_err(|problem| SelectorError::new(one.to_string(), problem))
        })
    }

    fn and<V: Into<String>>(
        mut self,
        key: impl Into<String>,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.requirements.push(Requirement {
            key: key.into(),
            operator,
            values: values.into_iter().map(Into::into).collect(),
        });
        self
    }
}

/// As kubectl's `-l` takes it; what is no label is in quotes, which the API server refuses.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

/// For the parameters of a list or a watch, which take text too.
impl From<Selector> for String {
    fn from(selector: Selector) -> Self {
        selector.to_string()
    }
}

/// What bears all of these labels.
impl From<&Labels> for Selector {
    fn from(labels: &Labels) -> Self {
        labels
            .map()
            .into_iter()
            .fold(Self::default(), |all, (key, value)| all.eq(key, value))
    }
}

/// The selector in a Deployment, a Service's policy or a custom resource. An empty one means all.
impl TryFrom<&LabelSelector> for Selector {
    type Error = SelectorError;

    fn try_from(selector: &LabelSelector) -> Result<Self, SelectorError> {
        let labels = selector.match_labels.iter().flatten();
        let mut all = labels.fold(Self::default(), |all, (key, value)| all.eq(key, value));
        for expression in selector.match_expressions.iter().flatten() {
            let operator = match expression.operator.as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    return Err(SelectorError::new(
                        &expression.key,
                        format!("`{other}` is not one of In, NotIn, Exists, DoesNotExist"),
                    ));
                }
            };
            let values = expression.values.iter().flatten();
            all = all.and(&expression.key, operator, values);
        }
        all.check()?;
        Ok(all)
    }
}

/// As apimachinery's `labels.Parse` reads it.
impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser { rest: text };
        let selector = parser
            .selector()
            .map_err(|problem| SelectorError::new(text, problem))?;
        let checked = selector
            .requirements
            .iter()
            .try_for_each(Requirement::check);
        checked.map_err(|problem| SelectorError::new(text, problem))?;
        Ok(selector)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Symbol(&'static str),
    Word(&'a str),
    End,
}

impl Token<'_> {
    fn told(self) -> String {
        match self {
            Self::Symbol(text) => format!("found `{text}`"),
            Self::Word(text) => format!("found `{text}`"),
            Self::End => "it ends".to_owned(),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// Longer symbols first.
    const SYMBOLS: [&'static str; 9] = ["==", "!=", "=", "!", ">", "<", "(", ")", ","];

    fn next(&mut self) -> Token<'a> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        for symbol in Self::SYMBOLS {
            if let Some(rest) = self.rest.strip_prefix(symbol) {
                self.rest = rest;
                return Token::Symbol(symbol);
            }
        }
        let ends = |letter: char| " \t\r\n=!<>(),".contains(letter);
        let (word, rest) = self
            .rest
            .split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        if word.is_empty() {
            Token::End
        } else {
            Token::Word(word)
        }
    }

    fn peek(&self) -> Token<'a> {
        Parser { rest: self.rest }.next()
    }

    fn selector(&mut self) -> Result<Selector, String> {
        let mut selector = Selector::default();
        if self.peek() == Token::End {
            return Ok(selector);
        }
        loop {
            selector.requirements.push(self.requirement()?);
            match self.next() {
                Token::End => return Ok(selector),
                Token::Symbol(",") => {}
                other => return Err(format!("expected `,` or the end, {}", other.told())),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (absent, key) = match self.next() {
            Token::Symbol("!") => (true, self.next()),
            key => (false, key),
        };
        let Token::Word(key) = key else {
            return Err(format!("expected a key, {}", key.told()));
        };
        let alone = matches!(self.peek(), Token::End | Token::Symbol(","));
        let (operator, values) = match (absent, alone) {
            (true, _) => (Operator::DoesNotExist, Vec::new()),
            (false, true) => (Operator::Exists, Vec::new()),
            (false, false) => match self.next() {
                Token::Symbol("=" | "==") => (Operator::In, vec![self.value()?]),
                Token::Symbol("!=") => (Operator::NotIn, vec![self.value()?]),
                Token::Symbol(">") => (Operator::GreaterThan, vec![self.value()?]),
                Token::Symbol("<") => (Operator::LessThan, vec![self.value()?]),
                Token::Word("in") => (Operator::In, self.values()?),
                Token::Word("notin") => (Operator::NotIn, self.values()?),
                other => {
                    return Err(format!(
                        "expected `=`, `!=`, `in`, `notin`, `<` or `>` after `{key}`, {}",
                        other.told()
                    ));
                }
            },
        };
        Ok(Requirement {
            key: key.to_owned(),
            operator,
            values: values.into_iter().map(str::to_owned).collect(),
        })
    }

    /// A single value, which may be empty.
    fn value(&mut self) -> Result<&'a str, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(""),
            Token::Word(value) => {
                self.next();
                Ok(value)
            }
            other @ Token::Symbol(_) => Err(format!("expected a value, {}", other.told())),
        }
    }

    /// Values in parentheses, of which each may be empty.
    fn values(&mut self) -> Result<Vec<&'a str>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("expected `(`, {}", other.told())),
        }
        if self.peek() == Token::Symbol(")") {
            self.next();
            return Ok(Vec::new());
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Token::Word(value) => {
                    values.push(value);
                    self.next();
                }
                Token::Symbol("," | ")") => values.push(""),
                other => return Err(format!("expected a value or `)`, {}", other.told())),
            }
            match self.next() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                other => return Err(format!("expected `,` or `)`, {}", other.told())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(own).collect()
    }

    #[test]
    fn every_form_is_read_as_apimachinery_reads_it() {
        for (text, written) in [
            ("", ""),
            ("x", "x"),
            ("!x", "!x"),
            ("! x , y", "!x,y"),
            ("x=a", "x=a"),
            ("x==a,y!=b", "x=a,y!=b"),
            ("x=", "x="),
            ("x=,y", "x=,y"),
            ("x in (a,b)", "x in (a,b)"),
            ("x in(b , a)", "x in (a,b)"),
            ("x notin (a)", "x!=a"),
            ("x in (,a)", "x in (,a)"),
            ("x in (a,)", "x in (,a)"),
            ("x>1,y<2", "x>1,y<2"),
            ("in in (in)", "in=in"),
            ("notin", "notin"),
            ("example.com/a_b.c=d", "example.com/a_b.c=d"),
            ("x=in", "x=in"),
        ] {
            let read: Selector = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read.to_string(), written, "{text}");
        }
    }

    #[test]
    fn what_the_server_would_refuse_is_refused_with_its_place() {
        let long = "a".repeat(64);
        for (text, problem) in [
            ("x in (a", "expected `,` or `)`, it ends"),
            ("x in a", "expected `(`, found `a`"),
            ("x in ()", "`x` needs at least one value"),
            (
                "x y",
                "expected `=`, `!=`, `in`, `notin`, `<` or `>` after `x`, found `y`",
            ),
            ("x,", "expected a key, it ends"),
            (",x", "expected a key, found `,`"),
            ("!x=a", "expected `,` or the end, found `=`"),
            ("x=a b", "expected `,` or the end, found `b`"),
            ("x=(", "expected a value, found `(`"),
            ("x>a", "`x` can only be compared with one integer"),
            (
                "-x",
                "the key `-x` must be of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
            ),
            (
                "A.com/x",
                "the key `A.com/x` must have a DNS name in lower case before the `/`",
            ),
            (
                "x=a/b",
                "the value `a/b` of `x` must be of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
            ),
            (
                &*format!("x={long}"),
                &*format!("the value `{long}` of `x` must have at most 63 characters"),
            ),
        ] {
            let error = text.parse::<Selector>().unwrap_err();
            assert_eq!(error.problem, problem, "{text}");
            assert_eq!(error.selector, text);
        }
    }

    #[test]
    fn an_object_is_meant_when_every_requirement_holds() {
        let object = labels(&[("app", "web"), ("size", "5"), ("empty", "")]);
        for (selector, meant) in [
            ("", true),
            ("app=web,size>4", true),
            ("size<5", false),
            ("app>1", false),
            ("none<1", false),
            ("app!=web", false),
            ("none!=web", true),
            ("none notin (a,b)", true),
            ("app in (db,web),!none", true),
            ("!app", false),
            ("none", false),
            ("empty=", true),
            ("none=", false),
        ] {
            let selector: Selector = selector.parse().unwrap();
            assert_eq!(selector.matches(&object), meant, "{selector}");
        }
    }

    #[test]
    fn a_value_that_is_no_label_never_becomes_a_condition_of_its_own() {
        let built = Selector::default().eq("app", "web,tier=x").exists("a b");
        assert_eq!(built.to_string(), "app=\"web,tier=x\",\"a b\"");
        assert!(built.to_string().parse::<Selector>().is_err());
        assert_eq!(
            built.check().unwrap_err().to_string(),
            "the selector `app=\"web,tier=x\"`: the value `web,tier=x` of `app` must be of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends"
        );
    }

    #[test]
    fn the_selector_of_an_object_means_the_same() {
        let expression = |key: &str, operator: &str, values: &[&str]| LabelSelectorRequirement {
            key: key.into(),
            operator: operator.into(),
            values: Some(values.iter().map(|value| (*value).to_owned()).collect()),
        };
        let of = |expressions| {
            Selector::try_from(&LabelSelector {
                match_labels: Some(labels(&[("app", "web")])),
                match_expressions: Some(expressions),
            })
        };
        let all = of(vec![
            expression("a", "In", &["x", "y"]),
            expression("b", "NotIn", &["x"]),
            expression("c", "Exists", &[]),
            expression("d", "DoesNotExist", &[]),
        ]);
        assert_eq!(all.unwrap().to_string(), "app=web,a in (x,y),b!=x,c,!d");
        for wrong in [("In", &[][..]), ("Exists", &["x"]), ("Near", &["x"])] {
            assert!(of(vec![expression("a", wrong.0, wrong.1)]).is_err());
        }
    }
}
