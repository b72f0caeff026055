use super::versions::OtherVersion;

/// The manager, the endpoint and the time of a write.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApplyOptions {
    /// The field manager; empty stands for `unknown`.
    pub manager: String,
    /// `group/version` of the request.
    pub api_version: String,
    /// The subresource, such as `status`; `None` for the object itself.
    pub subresource: Option<String>,
    /// Whether an apply takes over fields that others own with other values.
    pub force: bool,
    /// Whether the kind has the `status` subresource. If so, a write to the object itself cannot own `status`.
    pub has_status: bool,
    /// The fields that a write to this endpoint cannot own. If it is empty, `has_status` decides.
    pub reset: &'static [&'static str],
    /// The object before anything was set. A create is compared with it.
    pub blank: serde_json::Value,
    /// The other version of a kind that is served in two.
    pub other_version: Option<OtherVersion>,
    /// The time of the write.
    pub time: jiff::Timestamp,
}

impl ApplyOptions {
    /// The options of a write to the object itself that is not forced, for a kind with the `status` subresource.
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
            reset: &[],
            blank: serde_json::Value::Object(serde_json::Map::new()),
            other_version: None,
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

    /// Sets whether the kind has the `status` subresource.
    pub fn has_status(mut self, has_status: bool) -> Self {
        self.has_status = has_status;
        self
    }

    /// Sets the fields that a write to this endpoint cannot own. Default: none, so that `has_status` decides.
    pub fn reset(mut self, fields: &'static [&'static str]) -> Self {
        self.reset = fields;
        self
    }

    /// Sets the object before anything was set. Default: an empty object.
    pub fn blank(mut self, blank: serde_json::Value) -> Self {
        self.blank = blank;
        self
    }

    /// Sets the other version of a kind that is served in two. Default: none.
    pub fn other_version(mut self, other: Option<OtherVersion>) -> Self {
        self.other_version = other;
        self
    }

    /// The time as in `managedFields`.
    pub(super) fn time_text(&self) -> String {
        self.time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}
