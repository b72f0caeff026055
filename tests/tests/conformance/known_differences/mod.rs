//! The known differences between the sandbox and a real API server, a file for each area.
//!
//! | file | what differs |
//! | --- | --- |
//! | `parts.rs` | parts of a cluster that the sandbox does not have |
//! | `texts.rs` | texts of errors that other parsers and Go's own types lead to |
//! | `forms.rs` | details of an answer that no client notices |
//!
//! A row that matches nothing when all cases run fails the run: then the difference is gone, and the row goes too.

mod forms;
mod parts;
mod texts;

use crate::comparison::Difference;

/// Differences that stay, for one reason.
#[derive(Debug)]
pub(crate) struct Row {
    /// Scenarios and steps, each by its beginning.
    pub(crate) steps: &'static [&'static str],
    /// Paths in an answer, each by its beginning. `*` is any name, and `**` any number of names.
    paths: &'static [&'static str],
    pub(crate) why: &'static str,
}

/// Returns all rows.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    [parts::ROWS, texts::ROWS, forms::ROWS]
        .into_iter()
        .flatten()
}

/// Returns the row of a difference, if it is known.
pub(crate) fn row(difference: &Difference) -> Option<&'static Row> {
    let at: Vec<&str> = names(&difference.at).collect();
    rows().find(|row| {
        row.steps
            .iter()
            .any(|step| difference.step.starts_with(step))
            && row.paths.iter().any(|path| {
                let path: Vec<&str> = names(path).collect();
                begins(&at, &path)
            })
    })
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

fn begins(at: &[&str], pattern: &[&str]) -> bool {
    match (at, pattern) {
        (_, []) => true,
        (_, ["**", rest @ ..]) => (0..=at.len()).any(|skipped| begins(&at[skipped..], rest)),
        ([], _) => false,
        ([name, at @ ..], [wanted, rest @ ..]) => {
            (*wanted == "*" || wanted == name) && begins(at, rest)
        }
    }
}
