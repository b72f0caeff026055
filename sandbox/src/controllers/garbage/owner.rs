use serde_json::Value;

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) blocks: bool,
}

impl Owner {
    /// The owner references of an object.
    pub(super) fn of(object: &Value) -> Vec<Self> {
        let references = object
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array);
        references.into_iter().flatten().map(Self::read).collect()
    }

    fn read(reference: &Value) -> Self {
        let text = |key: &str| {
            let text = reference.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        Self {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            blocks: reference.get("blockOwnerDeletion") == Some(&Value::Bool(true)),
        }
    }

    /// Group and version.
    pub(super) fn group_version(&self) -> (&str, &str) {
        self.api_version
            .split_once('/')
            .unwrap_or(("", &self.api_version))
    }
}
