use crate::client::url::Query;

/// What to list, and from which version.
///
/// The default lists everything, consistently, in one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListParams {
    /// Only objects whose labels match, as kubectl's `-l`.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `spec.nodeName=node-1`.
    pub field_selector: Option<String>,
    /// At most so many objects; the rest follows by the list's `continue` token.
    pub limit: Option<u32>,
    /// The `continue` token of the page before.
    pub continue_token: Option<String>,
    /// How old the answer may be; `"0"` takes whatever the server has at hand.
    pub resource_version: Option<String>,
    /// How [`resource_version`](Self::resource_version) is meant.
    pub resource_version_match: Option<VersionMatch>,
}

/// How the resource version of a list is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// Exactly that version, or 410 if the server no longer has it.
    Exact,
    /// That version or any later one.
    NotOlderThan,
}

impl ListParams {
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

    /// At most `limit` objects in one answer.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The page after the one that carried `token`.
    #[must_use]
    pub fn continue_token(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// An answer of `version` or later.
    #[must_use]
    pub fn at(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    /// How the version is meant.
    #[must_use]
    pub fn version_match(mut self, how: VersionMatch) -> Self {
        self.resource_version_match = Some(how);
        self
    }

    pub(in crate::client) fn write(&self, query: &mut Query) {
        query.text("labelSelector", self.label_selector.as_deref());
        query.text("fieldSelector", self.field_selector.as_deref());
        query.number("limit", self.limit.map(u64::from));
        query.text("continue", self.continue_token.as_deref());
        query.text("resourceVersion", self.resource_version.as_deref());
        let how = self.resource_version_match.map(|how| match how {
            VersionMatch::Exact => "Exact",
            VersionMatch::NotOlderThan => "NotOlderThan",
        });
        query.text("resourceVersionMatch", how);
    }
}
