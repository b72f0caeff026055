use std::fmt;

use serde::{Deserialize, Serialize};

use super::ListMeta;

/// The API server's answer to a request that failed, kept whole.
///
/// The predicates go by [`reason`](Self::reason) and fall back to the HTTP code only when the
/// reason is missing, as apimachinery's `errors.Is…` do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// `Success` or `Failure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What went wrong, for people.
    pub message: String,
    /// What went wrong, for programs: `NotFound`, `Conflict`, `Expired`, …
    pub reason: String,
    /// HTTP status code; 0 when unknown.
    pub code: u16,
    /// The object concerned and the single causes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<StatusDetails>,
    /// List metadata.
    pub metadata: ListMeta,
}

/// Which object a [`Status`] is about, and why in detail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// Name of the object.
    pub name: String,
    /// Group of the object's kind.
    pub group: String,
    /// Kind, or plural, of the object.
    pub kind: String,
    /// UID of the object.
    pub uid: String,
    /// One entry for each thing that is wrong.
    pub causes: Vec<StatusCause>,
    /// Seconds to wait before the request is tried again; 0 when the server gave none.
    pub retry_after_seconds: u32,
}

/// One cause within a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusCause {
    /// For programs: `FieldValueInvalid`, `FieldManagerConflict`, …
    pub reason: String,
    /// For people.
    pub message: String,
    /// Path of the field, such as `spec.replicas`.
    pub field: String,
}

impl Status {
    /// A status made on the client's side, for answers that carry none.
    pub fn from_code(code: u16, message: impl Into<String>) -> Self {
        Self {
            status: Some("Failure".into()),
            message: message.into(),
            code,
            ..Self::default()
        }
    }

    /// The object does not exist, or its kind is not served.
    pub fn is_not_found(&self) -> bool {
        self.is("NotFound", 404)
    }

    /// An object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Another write came first, or another field manager owns a field.
    pub fn is_conflict(&self) -> bool {
        self.is("Conflict", 409)
    }

    /// The object breaks its schema.
    pub fn is_invalid(&self) -> bool {
        self.is("Invalid", 422)
    }

    /// The identity is known but not allowed to do this.
    pub fn is_forbidden(&self) -> bool {
        self.is("Forbidden", 403)
    }

    /// The identity is not known.
    pub fn is_unauthorized(&self) -> bool {
        self.is("Unauthorized", 401)
    }

    /// The resource version asked for is no longer kept: list again.
    pub fn is_expired(&self) -> bool {
        self.reason == "Expired" || self.is("Gone", 410)
    }

    /// The server asks to slow down.
    pub fn is_too_many_requests(&self) -> bool {
        self.is("TooManyRequests", 429)
    }

    /// The resource version asked for is newer than what this server has seen yet.
    pub fn is_too_large_resource_version(&self) -> bool {
        let cause = self.details.iter().flat_map(|details| &details.causes);
        (self.reason == "Timeout" || self.code == 504)
            && (cause
                .clone()
                .any(|cause| cause.reason == "ResourceVersionTooLarge")
                || cause
                    .map(|cause| &cause.message)
                    .chain([&self.message])
                    .any(|text| text.contains("Too large resource version")))
    }

    /// How long the server asks to wait, if it does.
    pub fn retry_after(&self) -> Option<std::time::Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| std::time::Duration::from_secs(seconds.into()))
    }

    fn is(&self, reason: &str, code: u16) -> bool {
        self.reason == reason || (self.reason.is_empty() && self.code == code)
    }
}

/// The message, or reason and code when there is none.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message.is_empty(), self.reason.is_empty()) {
            (false, _) => f.write_str(&self.message),
            (true, false) => write!(f, "{} (HTTP {})", self.reason, self.code),
            (true, true) => write!(f, "HTTP {}", self.code),
        }
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(json: serde_json::Value) -> Status {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_reason_counts_before_the_code() {
        let exists = status(serde_json::json!({"reason": "AlreadyExists", "code": 409}));
        assert!(exists.is_already_exists() && !exists.is_conflict());
        assert!(status(serde_json::json!({"code": 409})).is_conflict());
        for reason in ["Expired", "Gone"] {
            assert!(status(serde_json::json!({"reason": reason, "code": 410})).is_expired());
        }
    }

    #[test]
    fn a_too_large_resource_version_is_known_in_both_encodings() {
        let cause = serde_json::json!({"reason": "Timeout", "code": 504, "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}});
        assert!(status(cause).is_too_large_resource_version());
        let text = serde_json::json!({"reason": "Timeout", "message": "Too large resource version: 9, current: 3"});
        assert!(status(text).is_too_large_resource_version());
        assert!(!status(serde_json::json!({"reason": "Timeout"})).is_too_large_resource_version());
    }
}
