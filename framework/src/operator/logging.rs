use std::io::{self, IsTerminal};

use tracing_subscriber::{filter::Targets, fmt, prelude::*};

use super::OperatorError;

/// What is logged unless the command line or `RUST_LOG` says otherwise.
const DEFAULT_FILTER: &str = "info";

/// How a log line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line, for collectors.
    Json,
}

/// Sends the process's log to standard error. A program that has set up its own keeps it.
///
/// A filter is a level, or levels by target: `info,pilothouse::client=debug`. (The filter by spans and fields that
/// tracing-subscriber has, too, brings a regular expression engine.)
pub(super) fn init(filter: Option<&str>, format: LogFormat) -> Result<(), OperatorError> {
    let (text, origin) = match (filter, std::env::var("RUST_LOG")) {
        (Some(filter), _) => (filter.to_owned(), "--log"),
        (None, Ok(filter)) if !filter.is_empty() => (filter, "RUST_LOG"),
        (None, _) => (DEFAULT_FILTER.to_owned(), "--log"),
    };
    let filter: Targets = text.parse().map_err(|error| OperatorError::LogFilter {
        origin,
        text,
        reason: format!("{error}"),
    })?;
    let log = tracing_subscriber::registry().with(filter);
    let lines = fmt::layer().with_writer(io::stderr);
    // Fails only when the program has its own.
    let _ = match format {
        LogFormat::Text => log
            .with(lines.with_ansi(io::stderr().is_terminal()))
            .try_init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true)).try_init(),
    };
    Ok(())
}
