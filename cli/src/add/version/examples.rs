//! The examples of a kind, which follow it to its new version.

use std::{fs, ops::Range, path::Path};

use crate::{
    documents::{self, Document},
    error::Error,
    terminal::{say, shown},
};

/// A kind that gets a new version.
pub(super) struct Step<'a> {
    pub(super) group: &'a str,
    pub(super) kind: &'a str,
    pub(super) old: &'a str,
    pub(super) new: &'a str,
}

/// Moves the objects in the files of the folder to the new version, which has the same fields today. Tells each file that it changes, and each that it
/// does not understand.
///
/// # Errors
/// A file cannot be written.
pub(super) fn follow(folder: &Path, step: &Step<'_>) -> Result<(), Error> {
    let Step {
        group,
        kind,
        old,
        new,
    } = step;
    // An operator may have no examples.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if !matches!(extension, Some("yaml" | "yml" | "json")) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let shown = shown(&path);
        match step.moved(&text) {
            Moved::Nothing => {}
            Moved::To(text) => {
                fs::write(&path, text).map_err(Error::file(&path))?;
                say(&format!("changed {shown}"));
            }
            Moved::ByHand => say(&format!(
                "{shown} has {kind} in {old}, and the tests read it in {new}. Write there: apiVersion: {group}/{new}"
            )),
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
enum Moved {
    /// No object of the kind is in the old version.
    Nothing,
    To(String),
    /// Where the version stands is not sure.
    ByHand,
}

impl Step<'_> {
    fn moved(&self, text: &str) -> Moved {
        let count = |text: &str, version: &str| {
            let documents = documents::read(text).ok()?;
            Some(documents.iter().filter(|one| self.is(one, version)).count())
        };
        let old = format!("{}/{}", self.group, self.old);
        let all = match count(text, self.old) {
            Some(0) => return Moved::Nothing,
            Some(all) => all,
            // A file with a tag, or with a merge key.
            None if text.contains(&old) && text.contains(self.kind) => return Moved::ByHand,
            None => return Moved::Nothing,
        };
        let mut changed = text.to_owned();
        let mut done = 0;
        // From the end, so that the earlier places stay.
        for document in split(text).into_iter().rev() {
            let inner = &text[document.clone()];
            if value(inner, "kind").is_some_and(|at| &inner[at] == self.kind)
                && let Some(at) = value(inner, "apiVersion")
                && inner[at.clone()] == old
            {
                let end = document.start + at.end;
                changed.replace_range(end - self.old.len()..end, self.new);
                done += 1;
            }
        }
        // What looks like a document may be a part of a text in another one.
        let left = count(&changed, self.old);
        match done == all && left == Some(0) {
            true => Moved::To(changed),
            false => Moved::ByHand,
        }
    }

    fn is(&self, document: &Document, version: &str) -> bool {
        let object = &document.value;
        object["kind"] == self.kind && object["apiVersion"] == format!("{}/{version}", self.group)
    }
}

/// The places of the documents of a text.
fn split(text: &str) -> Vec<Range<usize>> {
    let mut documents = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.starts_with("---") {
            documents.push(start..at);
            start = at;
        }
        at += line.len();
    }
    documents.push(start..at);
    documents
}

/// The place of the value of a field at the left border, without its quotes.
fn value(document: &str, field: &str) -> Option<Range<usize>> {
    let mut at = 0;
    for line in document.split_inclusive('\n') {
        let value = line
            .strip_prefix(field)
            .and_then(|rest| rest.strip_prefix(':'));
        if let Some(value) = value {
            let inner = value.split(" #").next().unwrap_or_default().trim();
            let quoted = ['"', '\''].into_iter().find_map(|quote| {
                let inner = inner.strip_prefix(quote)?;
                inner.strip_suffix(quote)
            });
            let inner = quoted.unwrap_or(inner);
            // It is a part of the line.
            let begin = at + (line.len() - value.len()) + value.find(inner)?;
            return Some(begin..begin + inner.len());
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Step<'static> = Step {
        group: "example.com",
        kind: "Shelter",
        old: "v1",
        new: "v2",
    };

    #[test]
    fn the_objects_of_the_kind_move_and_nothing_else_changes() {
        let text = "# A shelter.\r\nkind: 'Shelter'\r\napiVersion: \"example.com/v1\" # stored\r\n--- # the next one\napiVersion: example.com/v1\nkind: Room\n---\napiVersion: example.com/v1\nkind: Shelter\nspec:\n  apiVersion: example.com/v1\n---\napiVersion: example.com/v1beta1\nkind: Shelter";
        let expected = text
            .replace("\"example.com/v1\"", "\"example.com/v2\"")
            .replace(
                "example.com/v1\nkind: Shelter\nspec",
                "example.com/v2\nkind: Shelter\nspec",
            );
        assert_eq!(STEP.moved(text), Moved::To(expected.clone()));
        assert_eq!(STEP.moved(&expected), Moved::Nothing);
        assert_eq!(STEP.moved("a: ["), Moved::Nothing);
    }

    #[test]
    fn an_object_in_another_notation_is_left_to_the_user() {
        for text in [
            "{\"apiVersion\": \"example.com/v1\", \"kind\": \"Shelter\"}",
            "\"apiVersion\": example.com/v1\nkind: Shelter\n",
            "apiVersion: example.com/v1\nkind: Shelter\nspec:\n  <<: {}\n",
            "apiVersion: example.com/v1\nkind: Shelter\n---\n{apiVersion: example.com/v1, kind: Shelter}\n",
        ] {
            assert_eq!(STEP.moved(text), Moved::ByHand, "{text}");
        }
    }
}
