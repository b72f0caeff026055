use serde_json::{Map, Value};

/// The operation of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Every other write.
    Update,
}

impl Operation {
    /// The operation as in `managedFields[].operation`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The owner of fields: one entry of `managedFields`, without the fields and the time.
///
/// A manager that applies is the same manager in every API version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Manager {
    /// The name that the client gave as `fieldManager`.
    pub name: String,
    /// Its operation.
    pub operation: Operation,
    /// The API version of an `Update`; empty for an `Apply`.
    pub api_version: String,
    /// The subresource that it writes to; empty for the object itself.
    pub subresource: String,
}

impl Manager {
    pub(super) fn new(
        name: &str,
        operation: Operation,
        api_version: &str,
        subresource: Option<&str>,
    ) -> Self {
        let name = if name.is_empty() { "unknown" } else { name };
        let api_version = match operation {
            Operation::Apply => "",
            Operation::Update => api_version,
        };
        Self {
            name: name.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.unwrap_or_default().to_owned(),
        }
    }

    /// The manager as conflict messages name it.
    pub fn describe(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }

    /// The key by which the server sorts managers in messages.
    pub(super) fn sort_key(&self) -> String {
        let mut map = Map::new();
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                map.insert(name.into(), Value::from(value));
            }
        };
        add("0manager", &self.name);
        add("1operation", self.operation.name());
        add("2apiVersion", &self.api_version);
        add("3subresource", &self.subresource);
        Value::Object(map).to_string()
    }
}
