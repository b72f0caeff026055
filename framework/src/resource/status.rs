use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::{ListMeta, lenient::lenient};

/// The API server's answer to a request that failed, kept whole.
///
/// The predicates go by [`reason`](Self::reason) and fall back to the HTTP code only when the
/// reason is missing or unknown, as apimachinery's `errors.Is…` do.
///
/// It is read leniently: a field of a wrong type or out of range counts as missing, and does not hide the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// `Success` or `Failure`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub status: Option<String>,
    /// What went wrong, for people.
    #[serde(deserialize_with = "lenient")]
    pub message: String,
    /// What went wrong, for programs: `NotFound`, `Conflict`, `Expired`, …
    #[serde(deserialize_with = "lenient")]
    pub reason: String,
    /// HTTP status code; 0 when unknown.
    #[serde(deserialize_with = "lenient")]
    pub code: u16,
    /// The object concerned and the single causes.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub details: Option<StatusDetails>,
    /// List metadata.
    #[serde(deserialize_with = "lenient")]
    pub metadata: ListMeta,
}

/// apimachinery's `StatusReason`s, each of which has a predicate.
const REASONS: [&str; 19] = [
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Gone",
    "Invalid",
    "ServerTimeout",
    "StoreReadError",
    "Timeout",
    "TooManyRequests",
    "BadRequest",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "UnsupportedMediaType",
    "InternalError",
    "Expired",
    "ServiceUnavailable",
];

/// The longest pause that a server's `Retry-After` leads to. A longer one comes from a maintenance page or a mistake.
pub(crate) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Which object a [`Status`] is about, and why in detail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// Name of the object.
    #[serde(deserialize_with = "lenient")]
    pub name: String,
    /// Group of the object's kind.
    #[serde(deserialize_with = "lenient")]
    pub group: String,
    /// Kind, or plural, of the object.
    #[serde(deserialize_with = "lenient")]
    pub kind: String,
    /// UID of the object.
    #[serde(deserialize_with = "lenient")]
    pub uid: String,
    /// One entry for each thing that is wrong.
    #[serde(deserialize_with = "lenient")]
    pub causes: Vec<StatusCause>,
    /// Seconds to wait before the request is tried again; 0 when the server gave none or a negative number.
    #[serde(deserialize_with = "lenient")]
    pub retry_after_seconds: u32,
}

/// One cause within a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusCause {
    /// For programs: `FieldValueInvalid`, `FieldManagerConflict`, …
    #[serde(deserialize_with = "lenient")]
    pub reason: String,
    /// For people.
    #[serde(deserialize_with = "lenient")]
    pub message: String,
    /// Path of the field, such as `spec.replicas`.
    #[serde(deserialize_with = "lenient")]
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

    /// Not an object is missing but what it was looked for in: the kind, its version or its
    /// subresource. The server names no object then, nor does whatever else answers in its place.
    pub fn is_not_served(&self) -> bool {
        let details = self.details.as_ref();
        let names_something =
            details.is_some_and(|details| !details.name.is_empty() || !details.kind.is_empty());
        self.is_not_found() && !names_something
    }

    /// An object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Another write came first, or another field manager owns a field.
    pub fn is_conflict(&self) -> bool {
        self.is("Conflict", 409)
    }

    /// The object breaks its schema or the kind's rules.
    pub fn is_invalid(&self) -> bool {
        self.is("Invalid", 422)
    }

    /// The request itself makes no sense to the server.
    pub fn is_bad_request(&self) -> bool {
        self.is("BadRequest", 400)
    }

    /// The identity is known but not allowed to do this.
    pub fn is_forbidden(&self) -> bool {
        self.is("Forbidden", 403)
    }

    /// The identity is not known.
    pub fn is_unauthorized(&self) -> bool {
        self.is("Unauthorized", 401)
    }

    /// The resource version asked for is no longer kept, whichever of its two reasons says so: list
    /// again.
    pub fn is_expired(&self) -> bool {
        self.reason == "Expired" || self.is_gone()
    }

    /// What was asked for is gone for good (reason `Gone`, the older form of `Expired`).
    pub fn is_gone(&self) -> bool {
        self.is("Gone", 410)
    }

    /// The server asks to slow down.
    pub fn is_too_many_requests(&self) -> bool {
        self.is("TooManyRequests", 429)
    }

    /// The server gave up on the request; a write may have been done.
    pub fn is_timeout(&self) -> bool {
        self.is("Timeout", 504)
    }

    /// The server could not answer in time and asks to try again.
    pub fn is_server_timeout(&self) -> bool {
        self.reason == "ServerTimeout"
    }

    /// The server, or one behind it, is not there now.
    pub fn is_service_unavailable(&self) -> bool {
        self.is("ServiceUnavailable", 503)
    }

    /// Something broke within the server.
    pub fn is_internal_error(&self) -> bool {
        self.is("InternalError", 500)
    }

    /// The server cannot read the object from its store: it does not decrypt or decode.
    pub fn is_store_read_error(&self) -> bool {
        self.reason == "StoreReadError"
    }

    /// The kind does not have this verb.
    pub fn is_method_not_allowed(&self) -> bool {
        self.is("MethodNotAllowed", 405)
    }

    /// The server cannot answer in any of the forms that were asked for.
    pub fn is_not_acceptable(&self) -> bool {
        self.is("NotAcceptable", 406)
    }

    /// The server does not take a body of this form.
    pub fn is_unsupported_media_type(&self) -> bool {
        self.is("UnsupportedMediaType", 415)
    }

    /// The object is larger than the server takes.
    pub fn is_request_entity_too_large(&self) -> bool {
        self.is("RequestEntityTooLarge", 413)
    }

    /// One of its causes has this reason, such as `NamespaceTerminating` or `DisruptionBudget`.
    pub fn has_cause(&self, reason: &str) -> bool {
        self.cause(reason).is_some()
    }

    /// The first cause of this reason.
    pub fn cause(&self, reason: &str) -> Option<&StatusCause> {
        self.causes().iter().find(|cause| cause.reason == reason)
    }

    /// Every single thing that is wrong, as far as the server told it.
    pub fn causes(&self) -> &[StatusCause] {
        let details = self.details.as_ref();
        details.map_or(&[], |details| &details.causes)
    }

    /// The namespace is being deleted and takes nothing new.
    pub fn is_namespace_terminating(&self) -> bool {
        self.has_cause("NamespaceTerminating")
    }

    /// A page's version is forgotten, and this token goes on from where the list was, in the
    /// newest version: together the pages are then of no one version.
    pub fn inconsistent_continue_token(&self) -> Option<&str> {
        let token = self.metadata.continue_.as_deref();
        token.filter(|token| !token.is_empty() && self.is_expired())
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

    /// How long the server asks to wait before the next attempt, if it does (client-go's
    /// `SuggestsClientDelay`). A minute at most; [`StatusDetails::retry_after_seconds`] is what the server said.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()).min(LONGEST_RETRY_AFTER))
    }

    /// The code counts only where the reason is none that Kubernetes knows.
    fn is(&self, reason: &str, code: u16) -> bool {
        self.reason == reason || (self.code == code && !REASONS.contains(&&*self.reason))
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
    fn a_detail_that_does_not_fit_hides_nothing_else() {
        use serde_json::json;
        let odd = [
            json!(-5),
            json!("x"),
            json!(null),
            json!(1e300),
            json!([[{}]]),
            json!({"a": [1]}),
            json!(true),
        ];
        let fields = [
            "/status",
            "/metadata",
            "/metadata/continue",
            "/metadata/remainingItemCount",
            "/details",
            "/details/name",
            "/details/causes",
            "/details/causes/0",
            "/details/causes/0/field",
            "/details/retryAfterSeconds",
        ];
        for field in fields {
            for value in &odd {
                let mut answer = json!({
                    "status": "Failure", "code": 429, "reason": "TooManyRequests", "message": "slow down",
                    "metadata": {"continue": "next", "remainingItemCount": 3},
                    "details": {
                        "name": "a", "retryAfterSeconds": 7,
                        "causes": [{"reason": "R", "field": "spec"}, {"reason": "S"}],
                    },
                });
                *answer.pointer_mut(field).unwrap() = value.clone();
                let status = status(answer);
                assert_eq!(
                    (status.code, &*status.message),
                    (429, "slow down"),
                    "{field} {value}"
                );
                assert!(status.is_too_many_requests());
                let keeps_details = field != "/details" && !field.starts_with("/details/causes");
                assert_eq!(
                    status.has_cause("R") && status.has_cause("S"),
                    keeps_details || field.ends_with("field")
                );
            }
        }
        let after =
            |seconds: serde_json::Value| status(json!({"details": {"retryAfterSeconds": seconds}})).retry_after();
        assert_eq!(after(json!(-5)), None);
        assert_eq!(after(json!(1e12)), Some(Duration::from_secs(60)));
        assert_eq!(after(json!(2)), Some(Duration::from_secs(2)));
    }

    #[test]
    fn no_pause_is_longer_than_a_minute() {
        for (asked, found) in [(0, None), (7, Some(7)), (60, Some(60)), (86_400, Some(60))] {
            let busy = status(serde_json::json!({"details": {"retryAfterSeconds": asked}}));
            assert_eq!(
                busy.retry_after(),
                found.map(Duration::from_secs),
                "{asked}"
            );
        }
    }

    #[test]
    fn each_reason_has_a_predicate_and_no_other_answers_to_it() {
        type Predicate = fn(&Status) -> bool;
        let predicates: [(&str, u16, Predicate); 19] = [
            ("Unauthorized", 401, Status::is_unauthorized),
            ("Forbidden", 403, Status::is_forbidden),
            ("NotFound", 404, Status::is_not_found),
            ("AlreadyExists", 0, Status::is_already_exists),
            ("Conflict", 409, Status::is_conflict),
            ("Gone", 410, Status::is_gone),
            ("Invalid", 422, Status::is_invalid),
            ("ServerTimeout", 0, Status::is_server_timeout),
            ("StoreReadError", 0, Status::is_store_read_error),
            ("Timeout", 504, Status::is_timeout),
            ("TooManyRequests", 429, Status::is_too_many_requests),
            ("BadRequest", 400, Status::is_bad_request),
            ("MethodNotAllowed", 405, Status::is_method_not_allowed),
            ("NotAcceptable", 406, Status::is_not_acceptable),
            (
                "RequestEntityTooLarge",
                413,
                Status::is_request_entity_too_large,
            ),
            (
                "UnsupportedMediaType",
                415,
                Status::is_unsupported_media_type,
            ),
            ("InternalError", 500, Status::is_internal_error),
            ("Expired", 0, Status::is_expired),
            ("ServiceUnavailable", 503, Status::is_service_unavailable),
        ];
        assert_eq!(predicates.map(|(reason, ..)| reason), REASONS);
        for (reason, code, _) in predicates {
            for (other, _, holds) in predicates {
                // Both forms of a forgotten version are one thing to do.
                let expired = other == "Expired" && reason == "Gone";
                let known = status(serde_json::json!({"reason": reason, "code": 599}));
                assert_eq!(
                    holds(&known),
                    reason == other || expired,
                    "{other} of {reason}"
                );
                if code == 0 {
                    continue;
                }
                for reason_given in ["", "Odd"] {
                    let coded = status(serde_json::json!({"reason": reason_given, "code": code}));
                    assert_eq!(
                        holds(&coded),
                        reason == other || expired,
                        "{other} of {code}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_object_that_is_missing_is_told_from_a_kind_that_is() {
        let object = serde_json::json!({"reason": "NotFound", "code": 404, "details": {"name": "a", "kind": "configmaps"}});
        let kind = serde_json::json!({"reason": "NotFound", "code": 404, "details": {}});
        let page = serde_json::json!({"code": 404, "message": "404 page not found"});
        for (answer, not_served) in [(object, false), (kind, true), (page, true)] {
            let status = status(answer);
            assert!(status.is_not_found());
            assert_eq!(status.is_not_served(), not_served);
        }
        assert!(!status(serde_json::json!({"code": 503})).is_not_served());
    }

    #[test]
    fn causes_are_found_by_their_reason() {
        let status = status(serde_json::json!({
            "reason": "Forbidden", "code": 403,
            "details": {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]},
        }));
        assert!(status.is_namespace_terminating() && !status.has_cause("DisruptionBudget"));
        let cause = status.cause("NamespaceTerminating");
        assert_eq!(cause.map(|cause| &*cause.field), Some("metadata.namespace"));
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
