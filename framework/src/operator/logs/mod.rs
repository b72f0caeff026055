//! The process's log: on standard error, as text or as JSON, with a filter that can change at run time.
//!
//! | file | holds |
//! | --- | --- |
//! | `filter.rs` | [`Filter`] |
//! | `handle.rs` | [`LogHandle`]: changes the filter |
//! | `watch.rs` | applies changes of the settings file |
//! | `json.rs` | the JSON format |
//! | `terminal.rs` | standard error, with a line below the log |

mod filter;
mod handle;
mod json;
#[cfg(test)]
mod panics_test;
mod terminal;
mod watch;

use std::io::{self, IsTerminal};

use tracing_subscriber::{Layer, Registry, fmt, prelude::*, reload};

pub(super) use filter::{DEFAULT_FILTER, Filter, parse_filter};
pub use handle::{LogError, LogHandle};
use json::JsonLines;
use terminal::LogTerminal;
#[cfg(feature = "dev")]
pub(super) use terminal::{renew_below, show_below};
pub(super) use watch::WatchedSettings;

use super::traces::TraceLayer;
use crate::health::report_panics;

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object for each line, for log collectors.
    Json,
}

/// Sets up the process's log on standard error and connects `handle` with it. If the program has set up its own log,
/// that stays, and `handle` returns [`LogError::NotOurs`]; the panic hook stays, too. Otherwise panics are logged like other
/// errors, and the default panic hook prints nothing any more. `traces` receives all spans, independent of the filter.
pub(super) fn init(
    filter: Filter,
    format: LogFormat,
    traces: Option<TraceLayer>,
    handle: &LogHandle,
) {
    let (filter, reload) = reload::Layer::new(filter.0);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => fmt::layer()
            .with_writer(|| LogTerminal)
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
        handle.connect(reload);
        report_panics();
    }
}
