use std::ops::Range;

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// Code that occurs in a file exactly once, and the code that replaces it.
///
/// Code is compared token by token. Comments, line breaks and a comma before a closing bracket do not count, so that neither
/// a changed comment nor the formatter makes an edit stale.
#[derive(Debug)]
pub struct Edit {
    /// The code to find.
    pub from: String,
    /// The code to write instead.
    pub to: String,
}

/// Returns the text after all edits. Each edit is searched in the original text, not in the result of other edits.
///
/// # Errors
/// The code of an edit is empty, does not occur in the text, or occurs more than once; or two edits overlap.
pub fn edited(text: &str, edits: &[Edit]) -> Result<String, String> {
    let tokens = tokens(text);
    let mut places = Vec::new();
    for edit in edits {
        let place = place(text, &tokens, &edit.from)?;
        places.push((place, edit.to.trim_end()));
    }
    places.sort_by_key(|(place, _)| place.start);
    let mut edited = String::with_capacity(text.len());
    let mut end = 0;
    for (place, to) in places {
        if place.start < end {
            return Err("two edits overlap".to_owned());
        }
        edited.push_str(&text[end..place.start]);
        edited.push_str(to);
        end = place.end;
    }
    edited.push_str(&text[end..]);
    Ok(edited)
}

fn place(text: &str, tokens: &[Range<usize>], from: &str) -> Result<Range<usize>, String> {
    let wanted = self::tokens(from);
    let (Some(first), false) = (wanted.first(), tokens.is_empty()) else {
        return Err("an edit names no code to find".to_owned());
    };
    let is = |found: &[Range<usize>]| {
        let mut pairs = found.iter().zip(&wanted);
        pairs.all(|(found, wanted)| text[found.clone()] == from[wanted.clone()])
    };
    let mut found = tokens.windows(wanted.len()).filter(|window| is(window));
    let line = from[first.start..].lines().next().unwrap_or_default();
    match (found.next(), found.next()) {
        (Some([first, .., last]), None) => Ok(first.start..last.end),
        (Some([only]), None) => Ok(only.clone()),
        (None, _) | (Some([]), None) => Err(format!("the code `{line}` … does not occur")),
        (Some(_), Some(_)) => Err(format!("the code `{line}` … occurs more than once")),
    }
}

/// Returns the positions of the tokens in a text, without comments and without commas before a closing bracket.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for token in tokenize(text, FrontmatterAllowed::No) {
        let end = start + token.len as usize;
        let closes = matches!(
            token.kind,
            TokenKind::CloseParen | TokenKind::CloseBrace | TokenKind::CloseBracket
        );
        if closes && tokens.last().is_some_and(|last| &text[last.clone()] == ",") {
            tokens.pop();
        }
        if !is_trivia(token.kind) {
            tokens.push(start..end);
        }
        start = end;
    }
    tokens
}

fn is_trivia(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Whitespace | TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn one() {\n    // Why.\n    call(first, second);\n}\nfn two() {}\n";

    fn edit(from: &str, to: &str) -> Result<String, String> {
        let (from, to) = (from.to_owned(), to.to_owned());
        edited(TEXT, &[Edit { from, to }])
    }

    #[test]
    fn layout_comments_and_last_commas_do_not_count() {
        let done = edit("{ call(\n first, // this\n second,\n); }", "{ }");
        assert_eq!(done.unwrap(), "fn one() { }\nfn two() {}\n");
        let done = edit("call(first", "call(last");
        assert!(done.unwrap().contains("call(last, second)"));
    }

    #[test]
    fn code_that_is_not_there_or_more_than_once_is_an_error() {
        assert_eq!(
            edit("call(third)", "").unwrap_err(),
            "the code `call(third)` … does not occur"
        );
        assert_eq!(
            edit("fn", "").unwrap_err(),
            "the code `fn` … occurs more than once"
        );
        assert_eq!(
            edit("// Why.", "").unwrap_err(),
            "an edit names no code to find"
        );
    }

    #[test]
    fn edits_that_overlap_are_an_error() {
        let edit = |from: &str| Edit {
            from: from.to_owned(),
            to: String::new(),
        };
        let done = edited(TEXT, &[edit("call(first"), edit("first, second")]);
        assert_eq!(done.unwrap_err(), "two edits overlap");
    }
}
