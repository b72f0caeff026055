use std::time::Duration;

use super::checks;
use crate::client::request::url::Query;

/// What to watch, and from which resource version.
///
/// By default the stream begins with the present objects as added ones, and has bookmarks. Selectors are text or
/// values, as for [`ListParams`](super::ListParams).
///
/// The methods set the options. The fields are there for a [`ListerWatcher`](crate::cache::ListerWatcher) to read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchParams {
    /// Only objects whose labels match.
    pub label_selector: Option<String>,
    /// Only objects whose fields match.
    pub field_selector: Option<String>,
    /// Only changes after this version, usually that of a list.
    pub resource_version: Option<String>,
    /// Whether the server sends bookmarks now and then, which name the current version. Default true.
    pub allow_bookmarks: bool,
    /// The server ends the stream after this time; its own default is 30 to 60 minutes.
    pub timeout: Option<Duration>,
    /// Whether the stream begins with the present objects and a bookmark after them (KEP-3157).
    pub send_initial_events: bool,
    /// Only this shard of the objects: see [`ListParams`](super::ListParams).
    pub shard_selector: Option<String>,
}

impl Default for WatchParams {
    fn default() -> Self {
        Self {
            label_selector: None,
            field_selector: None,
            resource_version: None,
            allow_bookmarks: true,
            timeout: None,
            send_initial_events: false,
            shard_selector: None,
        }
    }
}

impl WatchParams {
    /// Only objects whose labels match `selector`.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Only objects whose fields match `selector`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = Some(selector.into());
        self
    }

    /// Only changes after `version`.
    #[must_use]
    pub fn after(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    /// The server ends the stream after `timeout`, rounded up to seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Only this shard of the objects.
    #[must_use]
    pub fn shard(mut self, selector: impl Into<String>) -> Self {
        self.shard_selector = Some(selector.into());
        self
    }

    /// Requests no bookmarks.
    #[must_use]
    pub fn without_bookmarks(mut self) -> Self {
        self.allow_bookmarks = false;
        self
    }

    /// Begins with the present objects, at least as new as [`after`](Self::after) says, or the newest.
    #[must_use]
    pub fn initial_events(mut self) -> Self {
        self.send_initial_events = true;
        self
    }

    pub(in crate::client) fn write(&self, query: &mut Query) -> Result<(), String> {
        checks::selectors(
            self.label_selector.as_deref(),
            self.field_selector.as_deref(),
        )?;
        query.flag("watch", true);
        query.text("labelSelector", self.label_selector.as_deref());
        query.text("fieldSelector", self.field_selector.as_deref());
        query.text("resourceVersion", self.resource_version.as_deref());
        query.flag("allowWatchBookmarks", self.allow_bookmarks);
        query.seconds("timeoutSeconds", self.timeout);
        if self.send_initial_events {
            query.flag("sendInitialEvents", true);
            query.text("resourceVersionMatch", Some("NotOlderThan"));
        }
        query.text("shardSelector", self.shard_selector.as_deref());
        Ok(())
    }
}
