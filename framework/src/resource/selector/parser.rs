use super::{Operator, Requirement, Selector};

/// A symbol or a word of a selector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Symbol(&'static str),
    Word(&'a str),
    End,
}

impl Token<'_> {
    fn describe(self) -> String {
        match self {
            Self::Symbol(text) => format!("found `{text}`"),
            Self::Word(text) => format!("found `{text}`"),
            Self::End => "found the end".to_owned(),
        }
    }
}

/// Reads the syntax of kubectl's `-l`, as apimachinery's `labels.Parse` does.
pub(super) struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// A symbol comes before those that are its beginning.
    const SYMBOLS: [&'static str; 9] = ["==", "!=", "=", "!", ">", "<", "(", ")", ","];

    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

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

    /// The whole text as a selector, not yet checked.
    pub(super) fn selector(&mut self) -> Result<Selector, String> {
        let mut selector = Selector::default();
        if self.peek() == Token::End {
            return Ok(selector);
        }
        loop {
            selector.requirements.push(self.requirement()?);
            match self.next() {
                Token::End => return Ok(selector),
                Token::Symbol(",") => {}
                other => return Err(format!("expected `,` or the end, {}", other.describe())),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (absent, key) = match self.next() {
            Token::Symbol("!") => (true, self.next()),
            key => (false, key),
        };
        let Token::Word(key) = key else {
            return Err(format!("expected a key, {}", key.describe()));
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
                        other.describe()
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
            other @ Token::Symbol(_) => Err(format!("expected a value, {}", other.describe())),
        }
    }

    /// Values in parentheses. Each may be empty.
    fn values(&mut self) -> Result<Vec<&'a str>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("expected `(`, {}", other.describe())),
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Token::Word(value) => {
                    values.push(value);
                    self.next();
                }
                Token::Symbol("," | ")") => values.push(""),
                other => return Err(format!("expected a value or `)`, {}", other.describe())),
            }
            match self.next() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                other => return Err(format!("expected `,` or `)`, {}", other.describe())),
            }
        }
    }
}
