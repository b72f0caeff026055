use std::time::Duration;

use crate::client::url::Query;

/// What to watch, and from where on.
///
/// The default begins with the present state as added objects and asks for bookmarks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchParams {
    /// Only objects whose labels match.
    pub label_selector: Option<String>,
    /// Only objects whose fields match.
    pub field_selector: Option<String>,
    /// Changes after this version, usually that of a list.
    pub resource_version: Option<String>,
    /// Whether the server may say now and then how far it is; default true.
    pub allow_bookmarks: bool,
    /// After how long the server shall end the stream; its own default is 30 to 60 minutes.
    pub timeout: Option<Duration>,
    /// Whether the stream begins with the present state, ended by a bookmark (KEP-3157).
    pub send_initial_events: bool,
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

    /// Changes after `version`.
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

    /// Begin with the present state.
    #[must_use]
    pub fn initial_events(mut self) -> Self {
        self.send_initial_events = true;
        self
    }

    pub(in crate::client) fn write(&self, query: &mut Query) {
        query.flag("watch", true);
        query.text("labelSelector", self.label_selector.as_deref());
        query.text("fieldSelector", self.field_selector.as_deref());
        query.text("resourceVersion", self.resource_version.as_deref());
        query.flag("allowWatchBookmarks", self.allow_bookmarks);
        let seconds = |timeout: Duration| timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
        query.number("timeoutSeconds", self.timeout.map(seconds));
        if self.send_initial_events {
            query.flag("sendInitialEvents", true);
            query.text("resourceVersionMatch", Some("NotOlderThan"));
        }
    }
}
