//! The process's log: on standard error, for people or as JSON, with a filter that changes while it runs.

mod filter;
mod follow;
mod handle;
mod json;

use std::io::{self, IsTerminal};

use tracing_subscriber::{Layer, Registry, fmt, prelude::*, reload};

pub(super) use filter::{DEFAULT_FILTER, Filter, parse_filter};
pub(super) use follow::Followed;
pub use handle::{LogError, LogHandle};
use json::JsonLines;

use super::traces::TraceLayer;

/// How a log line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line, for collectors.
    Json,
}

/// Sends the process's log to standard error; `handle` changes its filter from now on. A program that has set up its
/// own log keeps it, and the handle says so. `traces` get all spans, whatever the filter lets pass.
pub(super) fn init(
    filter: Filter,
    format: LogFormat,
    traces: Option<TraceLayer>,
    handle: &LogHandle,
) {
    let (filter, reload) = reload::Layer::new(filter.0);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => fmt::layer()
            .with_writer(io::stderr)
            .with_ansi(io::stderr().is_terminal())
            .boxed(),
        LogFormat::Json => JsonLines::new(io::stderr).boxed(),
    };
    let layers: Vec<_> = [lines.with_filter(filter).boxed()]
        .into_iter()
        .chain(traces)
        .collect();
    let log = tracing_subscriber::registry().with(layers);
    if log.try_init().is_ok() {
        handle.changes(reload);
    }
}
