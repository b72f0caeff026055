use std::{fs, path::Path};

/// The text of a page with what it includes, as mdBook builds it: whole files, and parts between anchors.
pub(crate) fn page(path: &Path) -> Result<String, String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let folder = path.parent().unwrap_or(path);
    let mut text = String::new();
    for line in read(path)?.lines() {
        let included = line
            .strip_prefix("{{#include ")
            .and_then(|rest| rest.strip_suffix("}}"));
        match included.map(|what| what.split_once(':').unwrap_or((what, ""))) {
            None => text.push_str(line),
            Some((file, anchor)) => {
                text.push_str(part(&read(&folder.join(file))?, anchor)?.trim_end())
            }
        }
        text.push('\n');
    }
    Ok(text)
}

/// The lines between the anchors of this name, or all lines. The lines with anchors are left out.
fn part(text: &str, anchor: &str) -> Result<String, String> {
    let (begin, end) = (format!("ANCHOR: {anchor}"), format!("ANCHOR_END: {anchor}"));
    let is = |line: &str, mark: &str| {
        let rest = line.split_once(mark).map(|(_, rest)| rest);
        rest.is_some_and(|rest| {
            !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-')
        })
    };
    let (mut inside, mut found) = (anchor.is_empty(), anchor.is_empty());
    let mut part = String::new();
    for line in text.lines() {
        if !anchor.is_empty() && is(line, &begin) {
            (inside, found) = (true, true);
        } else if !anchor.is_empty() && is(line, &end) {
            inside = false;
        } else if inside && !line.contains("ANCHOR") {
            part.push_str(line);
            part.push('\n');
        }
    }
    match found {
        true => Ok(part),
        false => Err(format!("no anchor `{anchor}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_parts_that_it_includes() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "a.rs",
            "1\n// ANCHOR: one\n2\n// ANCHOR: one-more\n3\n// ANCHOR_END: one-more\n4\n// ANCHOR_END: one\n5\n",
        );
        write(
            "page.md",
            "a\n{{#include a.rs:one}}\nb\n{{#include a.rs:one-more}}\n{{#include a.rs}}\n",
        );
        let text = page(&folder.path().join("page.md")).unwrap();
        assert_eq!(text, "a\n2\n3\n4\nb\n3\n1\n2\n3\n4\n5\n");
        write("wrong.md", "{{#include a.rs:two}}\n");
        let problem = page(&folder.path().join("wrong.md")).unwrap_err();
        assert_eq!(problem, "no anchor `two`");
    }
}
