use std::{fmt, str::FromStr};

use tracing_subscriber::filter::{ParseError, Targets};

/// What is logged unless somebody says otherwise.
pub(in crate::operator) const DEFAULT_FILTER: &str = "info";

/// A level, or levels by target: `info,pilothouse::client=debug`. (The filter by spans and fields that
/// tracing-subscriber has, too, brings a regular expression engine.)
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::operator) struct Filter(pub(super) Targets);

impl FromStr for Filter {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads a filter.
///
/// # Errors
/// What is wrong and what to write.
pub(in crate::operator) fn parse_filter(text: &str) -> Result<Filter, String> {
    text.parse::<Filter>().map_err(|error| {
        format!("{error}: write a level such as `debug`, or `info,pilothouse=debug`")
    })
}
