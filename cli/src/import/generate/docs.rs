//! Descriptions as comments.

/// The description as lines of a documentation comment. Nothing in it is an example that `cargo test` would compile: a block of code gets the
/// language `text`, and outside of such a block no line is indented and no fence begins, also not in a quote or in a list.
pub(super) fn comment(description: &str, indent: &str) -> String {
    let mut text = String::new();
    for line in lines(description) {
        text.push_str(indent);
        text.push_str("///");
        if !line.is_empty() {
            text.push(' ');
            text.push_str(&line);
        }
        text.push('\n');
    }
    text
}

fn lines(description: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    for line in description.trim().lines() {
        // A carriage return within a comment is an error of Rust.
        let line: String = line
            .chars()
            .filter(|one| (!one.is_control() || *one == '\t') && !turns_direction(*one))
            .collect();
        let trimmed = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| {
            // A line such as "```a``` is the name" begins no block.
            let rest = trimmed.trim_start_matches(&mark[..1]);
            trimmed.starts_with(mark) && !(*mark == "```" && rest.contains('`'))
        });
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                lines.push(format!("{mark}text"));
            }
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                lines.push(mark.to_owned());
            }
            (Some(_), _) => lines.push(line.trim_end().to_owned()),
            (None, None) => {
                let words: Vec<&str> = trimmed.split_whitespace().collect();
                let line = words.join(" ").replace("```", r"\`\`\`");
                lines.push(line.replace("~~~", r"\~\~\~"));
            }
        }
    }
    lines.extend(fence.map(str::to_owned));
    lines
}

/// Whether a character turns the direction of text. Rust refuses it in a comment, which it could make look like code.
fn turns_direction(one: char) -> bool {
    matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_of_a_description_is_compiled() {
        let text = "One.\r\n\n    indented()\n```\n  a: 1\n```\n~~~yaml\nb";
        let expected = "/// One.\n///\n/// indented()\n/// ```text\n///   a: 1\n/// ```\n/// ~~~text\n/// b\n/// ~~~\n";
        assert_eq!(comment(text, ""), expected);
        assert_eq!(comment("  ", ""), "");
        for (hidden, expected) in [
            (
                "> ```\n> run()\n> ```",
                "/// > \\`\\`\\`\n/// > run()\n/// > \\`\\`\\`\n",
            ),
            ("-     run()", "/// - run()\n"),
            ("1. ~~~", "/// 1. \\~\\~\\~\n"),
            ("```a``` is\nb", "/// \\`\\`\\`a\\`\\`\\` is\n/// b\n"),
            ("a\u{202e}b", "/// ab\n"),
        ] {
            assert_eq!(comment(hidden, ""), expected);
        }
    }
}
