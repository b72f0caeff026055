//! What the outputs with several files have in common.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::admission::is_rule_kind;

/// Files by their paths below a folder.
pub(crate) type Files = BTreeMap<String, String>;

/// Marks the lines of a generated file that belong to the user.
pub(crate) const BEGIN: &str = "BEGIN own ";
/// Ends them.
pub(crate) const END: &str = "END own ";

/// An empty place for lines of the user's own. `comment` begins a comment in the language of the file, and `end` ends it.
pub(super) fn own_place(comment: &str, name: &str, end: &str) -> String {
    format!("{comment} {BEGIN}{name}{end}\n{comment} {END}{name}{end}\n")
}

/// The file of an object.
pub(super) fn file_of(object: &Value) -> &'static str {
    match object["kind"].as_str() {
        Some(kind) if is_rule_kind(kind) => "admission.yaml",
        Some("Namespace") => "namespace.yaml",
        Some("CustomResourceDefinition") => "definitions.yaml",
        Some("ServiceAccount" | "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding") => {
            "roles.yaml"
        }
        _ => "operator.yaml",
    }
}
