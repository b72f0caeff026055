//! The output of the commands that print objects, and its comparison with a file.

use std::{fs, path::Path, process::ExitCode};

use serde_json::Value;

use super::OperatorError;
use crate::resource::to_yaml;

/// The lines around a difference that are shown with it.
const CONTEXT: usize = 2;

/// Objects as YAML. A leading separator lets the output of several programs be joined.
///
/// # Errors
/// An error if the objects could not be serialized.
pub(super) fn yaml(
    objects: Result<Vec<Value>, serde_json::Error>,
) -> Result<String, OperatorError> {
    let text = objects.and_then(to_yaml);
    let text = text.map_err(|error| OperatorError::Output(error.into()))?;
    Ok(format!("---\n{text}"))
}

/// Compares the output with a file. Shows the difference with `show`.
///
/// # Errors
/// [`OperatorError::Outdated`] if the file has another content or cannot be read.
pub(super) fn check(
    text: &str,
    file: &Path,
    show: impl Fn(&str) -> Result<ExitCode, OperatorError>,
) -> Result<ExitCode, OperatorError> {
    let outdated = |problem: String| OperatorError::Outdated {
        file: file.to_owned(),
        problem,
    };
    if file.is_dir() {
        return Err(is_folder(file, "name the file with this output"));
    }
    let present =
        fs::read_to_string(file).map_err(|error| outdated(format!("cannot be read: {error}")))?;
    if present == text {
        return Ok(ExitCode::SUCCESS);
    }
    show(&difference(&present, text))?;
    Err(outdated("differs from the output".into()))
}

/// The error of a `--check` that names a folder.
pub(super) fn is_folder(path: &Path, advice: &str) -> OperatorError {
    OperatorError::Folder(format!("{} is a folder: {advice}", path.display()))
}

/// The lines that differ, with `-` before those of the file and `+` before those of the output.
pub(super) fn difference(present: &str, wanted: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (present.lines().collect(), wanted.lines().collect());
    let alike = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let start = alike(&mut old.iter().zip(&new));
    let rest = old.len().min(new.len()) - start;
    let end = alike(&mut old.iter().rev().zip(new.iter().rev())).min(rest);
    let mut text = String::new();
    let mut line = |mark: char, line: &str| {
        text.push(mark);
        text.push_str(line);
        text.push('\n');
    };
    line('@', &format!(" line {}", start + 1));
    let before = start.saturating_sub(CONTEXT);
    old[before..start].iter().for_each(|same| line(' ', same));
    for (mark, one) in changes(&old[start..old.len() - end], &new[start..new.len() - end]) {
        line(mark, one);
    }
    let after = &old[old.len() - end..];
    after.iter().take(CONTEXT).for_each(|same| line(' ', same));
    if present.ends_with('\n') != wanted.ends_with('\n') {
        line('@', " the end of the last line");
    }
    text
}

/// The longest common lines, with what was removed and added between them.
fn changes<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    /// The work grows with the product of both lengths.
    const MOST: usize = 4_000_000;
    let removed = |lines: &[&'a str]| lines.iter().map(|line| ('-', *line)).collect::<Vec<_>>();
    let added = |lines: &[&'a str]| lines.iter().map(|line| ('+', *line)).collect::<Vec<_>>();
    let (height, width) = (old.len(), new.len());
    if height.saturating_mul(width) > MOST {
        return [removed(old), added(new)].concat();
    }
    // The number of common lines of the rests that begin at each pair of places.
    let mut common = vec![vec![0_usize; width + 1]; height + 1];
    for row in (0..height).rev() {
        for column in (0..width).rev() {
            common[row][column] = match old[row] == new[column] {
                true => common[row + 1][column + 1] + 1,
                false => common[row + 1][column].max(common[row][column + 1]),
            };
        }
    }
    let (mut row, mut column, mut all) = (0, 0, Vec::new());
    while row < height && column < width {
        if old[row] == new[column] {
            all.push((' ', old[row]));
            row += 1;
            column += 1;
        } else if common[row + 1][column] >= common[row][column + 1] {
            all.push(('-', old[row]));
            row += 1;
        } else {
            all.push(('+', new[column]));
            column += 1;
        }
    }
    all.extend(removed(&old[row..]));
    all.extend(added(&new[column..]));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_the_changed_lines_with_their_surroundings() {
        let old = "a\nb\nc\nd\ne\nf\n";
        assert_eq!(
            difference(old, "a\nb\nc\nD\ne\nf\n"),
            "@ line 4\n b\n c\n-d\n+D\n e\n f\n"
        );
        assert_eq!(
            difference(old, "a\nb\nx\nc\nd\nf\n"),
            "@ line 3\n a\n b\n+x\n c\n d\n-e\n f\n"
        );
        assert_eq!(
            difference("", "a\n"),
            "@ line 1\n+a\n@ the end of the last line\n"
        );
        assert_eq!(
            difference("a", "a\n"),
            "@ line 2\n a\n@ the end of the last line\n"
        );
    }

    #[test]
    fn a_file_is_compared_with_the_output() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("all.yaml");
        let run = |text: &str| {
            let shown = std::cell::RefCell::new(String::new());
            let show = |text: &str| {
                shown.borrow_mut().push_str(text);
                Ok(ExitCode::SUCCESS)
            };
            let checked = check(text, &file, show).map(drop);
            (
                checked.map_err(|error| error.to_string()),
                shown.into_inner(),
            )
        };
        let (missing, _) = run("a\n");
        assert!(missing.unwrap_err().contains("all.yaml cannot be read: "));
        fs::write(&file, "a\n").unwrap();
        assert_eq!(run("a\n"), (Ok(()), String::new()));
        let (error, shown) = run("b\n");
        assert_eq!(shown, "@ line 1\n-a\n+b\n");
        let error = error.unwrap_err();
        assert!(
            error.ends_with(
                "all.yaml differs from the output: write the output to it and commit it"
            ),
            "{error}"
        );
    }
}
