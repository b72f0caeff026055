//! The query of a request.

/// The part of a list's or watch's query that this server looks at.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Query {
    pub(super) watch: bool,
    pub(super) initial_events: bool,
    pub(super) version: Option<u64>,
    pub(super) limit: Option<usize>,
    pub(super) from: Option<usize>,
}

impl Query {
    /// Parses a query. The error names the parameter that is invalid.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut query = Self::default();
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            let wrong = |_| format!("{name}={value}: expected a number");
            match name {
                "watch" => query.watch = value == "true" || value == "1",
                "sendInitialEvents" => query.initial_events = value == "true",
                "resourceVersion" if !value.is_empty() => {
                    query.version = Some(value.parse().map_err(wrong)?)
                }
                "limit" if value != "0" => query.limit = Some(value.parse().map_err(wrong)?),
                "continue" if !value.is_empty() => query.from = Some(value.parse().map_err(wrong)?),
                _ => {}
            }
        }
        Ok(query)
    }

    /// Returns the range of the requested page among `all` items. As with a real server, a list from the watch cache
    /// has no pages.
    pub(super) fn page(&self, all: usize) -> std::ops::Range<usize> {
        let from = self.from.unwrap_or(0).min(all);
        match self.limit {
            Some(limit) if self.version != Some(0) => from..all.min(from.saturating_add(limit)),
            _ => from..all,
        }
    }
}
