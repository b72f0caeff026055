//! Descriptions as comments.

/// The description as lines of a documentation comment. Nothing in it is an example that `cargo test` would compile: code loses its
/// indentation, or gets a language.
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
            .filter(|one| !one.is_control() || *one == '\t')
            .collect();
        let trimmed = line.trim();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
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
            (None, None) => lines.push(trimmed.to_owned()),
        }
    }
    lines.extend(fence.map(str::to_owned));
    lines
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
    }
}
