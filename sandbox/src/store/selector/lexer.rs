/// One token of a label selector with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    In,
    NotIn,
    /// One of `= == != < > ! ( ) ,`. The parser refuses other combinations of these characters.
    Symbol(String),
    End,
}

impl Token {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Word(text) | Self::Symbol(text) => text,
            Self::In => "in",
            Self::NotIn => "notin",
            Self::End => "",
        }
    }

    pub(super) fn is(&self, symbol: &str) -> bool {
        matches!(self, Self::Symbol(text) if text == symbol)
    }
}

const SYMBOLS: &[&str] = &["==", "!=", "=", "!", "<", ">", "(", ")", ","];

/// What separates words. Other white space is a part of a word.
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(SPACES);
    while !rest.is_empty() {
        let token = if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            rest = rest.get(symbol.len()..).unwrap_or_default();
            Token::Symbol((*symbol).into())
        } else {
            let end = rest
                .find(|letter: char| SPACES.contains(&letter) || "=!<>(),".contains(letter))
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            match word {
                "in" => Token::In,
                "notin" => Token::NotIn,
                word => Token::Word(word.into()),
            }
        };
        tokens.push(token);
        rest = rest.trim_start_matches(SPACES);
    }
    tokens.push(Token::End);
    tokens
}
