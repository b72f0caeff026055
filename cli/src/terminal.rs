//! What the tool prints, and questions, which are asked only if somebody can answer them.
//!
//! If nobody reads what is printed, as behind `| head -1`, the work goes on: it is not less done.

use std::{
    env,
    io::{self, BufRead, IsTerminal, Write},
    path::Path,
};

use crate::{error::Error, names::NameError};

/// The answer to a question, or what is suggested: if nobody sits at a terminal, or if the answer is empty. A wrong answer is asked for again.
pub(crate) fn ask<T>(
    question: &str,
    suggested: &str,
    read: impl Fn(&str) -> Result<T, NameError>,
) -> Result<T, Error> {
    let stdin = io::stdin();
    if !stdin.is_terminal() || !io::stdout().is_terminal() {
        return Ok(read(suggested)?);
    }
    loop {
        show(&format!("{question} [{suggested}]: "));
        let mut line = String::new();
        if stdin.lock().read_line(&mut line)? == 0 {
            return Ok(read(suggested)?);
        }
        let answer = line.trim();
        match read(if answer.is_empty() { suggested } else { answer }) {
            Ok(value) => return Ok(value),
            Err(error) => say(&error.to_string()),
        }
    }
}

/// Prints a text as it is.
pub(crate) fn show(text: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a line on standard error.
pub(crate) fn warn(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints a line.
pub(crate) fn say(line: &str) {
    // On a terminal the operator's summary may stand in this line.
    let clear = match io::stdout().is_terminal() {
        true => "\r\x1b[2K",
        false => "",
    };
    let _ = writeln!(io::stdout(), "{clear}{line}");
}

/// The path as seen from the folder in which the user is.
pub(crate) fn shown(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// A path as a word of a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+".contains(letter);
    match path.chars().all(plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted(Path::new("/a/b-1.c")), "/a/b-1.c");
        assert_eq!(quoted(Path::new("/my folder")), "'/my folder'");
        assert_eq!(quoted(Path::new("it's")), "'it'\\''s'");
    }
}
