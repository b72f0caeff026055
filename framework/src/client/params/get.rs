use crate::client::request::url::Query;

/// Options of `get`. The default reads the newest state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetParams {
    pub(crate) resource_version: Option<String>,
}

impl GetParams {
    /// Accepts an answer of `version` or later.
    #[must_use]
    pub fn at(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    /// Accepts any version that the server has in its cache. Costs the server least, but may be old.
    #[must_use]
    pub fn any_version(self) -> Self {
        self.at("0")
    }

    pub(in crate::client) fn write(&self, query: &mut Query) {
        query.text("resourceVersion", self.resource_version.as_deref());
    }
}
