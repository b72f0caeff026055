//! Questions, which are asked only if somebody can answer them.

use std::io::{self, BufRead, IsTerminal, Write};

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
        print!("{question} [{suggested}]: ");
        io::stdout().flush()?;
        let mut line = String::new();
        if stdin.lock().read_line(&mut line)? == 0 {
            return Ok(read(suggested)?);
        }
        let answer = line.trim();
        match read(if answer.is_empty() { suggested } else { answer }) {
            Ok(value) => return Ok(value),
            Err(error) => println!("{error}"),
        }
    }
}
