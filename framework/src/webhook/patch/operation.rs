use serde::Serialize;
use serde_json::Value;

/// One operation of a JSON patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(in crate::webhook) enum Operation {
    /// Adds a member to an object, or an item to a list before the one at this place.
    Add { path: String, value: Value },
    /// Replaces a value.
    Replace { path: String, value: Value },
    /// Removes a member or an item.
    Remove { path: String },
}

/// The path of a member or an item.
pub(super) fn within(path: &str, name: &str) -> String {
    // The order matters: the second replacement must not see the `~` of the first one's result.
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}
