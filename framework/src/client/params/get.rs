use crate::client::url::Query;

/// Options of `get`. The default reads the newest state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetParams {
    /// How old the answer may be; `"0"` takes whatever the server has at hand.
    pub resource_version: Option<String>,
}

impl GetParams {
    /// An answer of `version` or later.
    #[must_use]
    pub fn at(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    /// Whatever the server has at hand, which costs it least and may be old.
    #[must_use]
    pub fn any_version(self) -> Self {
        self.at("0")
    }

    pub(in crate::client) fn write(&self, query: &mut Query) {
        query.text("resourceVersion", self.resource_version.as_deref());
    }
}
