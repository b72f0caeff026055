/// Who writes, where and when.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApplyOptions {
    /// The field manager; empty stands for `unknown`.
    pub manager: String,
    /// `group/version` of the request.
    pub api_version: String,
    /// The subresource written to, such as `status`; none for the object itself.
    pub subresource: Option<String>,
    /// Take over fields that others own with other values. Only for apply.
    pub force: bool,
    /// Whether the kind has the `status` subresource, which makes `status` nobody's on the main endpoint.
    pub has_status: bool,
    /// What an object looks like before anything was set; a create is compared with it.
    pub blank: serde_json::Value,
    /// When.
    pub time: jiff::Timestamp,
}

impl ApplyOptions {
    /// A write to the object itself, not forced, of a kind with the `status` subresource.
    pub fn new(
        manager: impl Into<String>,
        api_version: impl Into<String>,
        time: jiff::Timestamp,
    ) -> Self {
        Self {
            manager: manager.into(),
            api_version: api_version.into(),
            subresource: None,
            force: false,
            has_status: true,
            blank: serde_json::Value::Object(serde_json::Map::new()),
            time,
        }
    }

    /// Takes over fields that others own with other values.
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Writes to a subresource.
    pub fn subresource(mut self, subresource: Option<&str>) -> Self {
        self.subresource = subresource.map(str::to_owned);
        self
    }

    /// Says whether the kind has the `status` subresource.
    pub fn has_status(mut self, has_status: bool) -> Self {
        self.has_status = has_status;
        self
    }

    /// Says what an object looks like before anything was set: nothing at all unless said.
    pub fn blank(mut self, blank: serde_json::Value) -> Self {
        self.blank = blank;
        self
    }

    /// The time as it stands in `managedFields`.
    pub(super) fn time_text(&self) -> String {
        self.time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}
