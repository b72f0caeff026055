#[cfg(feature = "dev")]
use std::io::IsTerminal;
use std::{
    io::{self, Write},
    sync::{Mutex, PoisonError},
};

/// Writes the log to standard error. On a terminal it keeps one line below the log.
#[derive(Debug)]
pub(super) struct LogTerminal;

/// The text of the line below the log. An empty text means that there is no line. It is static because a process has one standard error.
static BELOW: Mutex<String> = Mutex::new(String::new());

/// Moves to the start of the line and clears it (ECMA-48: CR, EL).
const CLEAR: &str = "\r\x1b[2K";
/// The most characters of the line. Every terminal has this width, and `CLEAR` cannot clear a line that wraps.
#[cfg(feature = "dev")]
const WIDTH: usize = 79;

/// Shows `text` below the log and replaces the previous line. An empty text removes the line. Does nothing if standard error is
/// no terminal.
#[cfg(feature = "dev")]
pub(in crate::operator) fn show_below(text: &str) {
    let mut below = BELOW.lock().unwrap_or_else(PoisonError::into_inner);
    let text: String = text.chars().take(WIDTH).collect();
    if *below == text || !io::stderr().is_terminal() {
        return;
    }
    *below = text;
    // If nobody reads standard error any more, the operator goes on.
    let _ = write!(io::stderr(), "{CLEAR}{below}");
}

/// Writes the line below the log again, because another process may have cleared it: `cargo pilothouse dev` writes to the same terminal.
#[cfg(feature = "dev")]
pub(in crate::operator) fn renew_below() {
    let below = BELOW.lock().unwrap_or_else(PoisonError::into_inner);
    if !below.is_empty() {
        // If nobody reads standard error any more, the operator goes on.
        let _ = write!(io::stderr(), "{CLEAR}{below}");
    }
}

impl Write for LogTerminal {
    /// Writes whole lines: the log passes each of its lines in one piece.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let below = BELOW.lock().unwrap_or_else(PoisonError::into_inner);
        io::stderr().write_all(&above(lines, &below))?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// What is written so that `lines` stand above the line `below`.
fn above(lines: &[u8], below: &str) -> Vec<u8> {
    match below.is_empty() {
        true => lines.to_vec(),
        false => [CLEAR.as_bytes(), lines, below.as_bytes()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_stands_above_the_line_that_stays() {
        assert_eq!(above(b"one\n", ""), b"one\n");
        assert_eq!(
            above(b"one\n", "web: working"),
            b"\r\x1b[2Kone\nweb: working"
        );
    }
}
