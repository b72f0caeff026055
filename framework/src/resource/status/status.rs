use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::lenient::lenient;
use crate::resource::ListMeta;

/// The API server's response to a failed request, with everything that the server said.
///
/// The predicates compare [`reason`](Self::reason). They compare the HTTP code only if the reason is missing or unknown, as
/// apimachinery's `errors.Is…` functions do.
///
/// Reading is lenient: a field of a wrong type or out of range counts as missing, and does not hide the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// `Success` or `Failure`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub status: Option<String>,
    /// What failed, for people.
    #[serde(deserialize_with = "lenient")]
    pub message: String,
    /// What failed, for programs: `NotFound`, `Conflict`, `Expired`, …
    #[serde(deserialize_with = "lenient")]
    pub reason: String,
    /// HTTP status code; 0 if unknown.
    #[serde(deserialize_with = "lenient")]
    pub code: u16,
    /// The object of the request, and each cause.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub details: Option<StatusDetails>,
    /// List metadata.
    #[serde(deserialize_with = "lenient")]
    pub metadata: ListMeta,
}

/// apimachinery's `StatusReason`s. Each has a predicate.
pub(super) const REASONS: [&str; 19] = [
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

/// The longest wait that a client accepts from a server's `Retry-After`. A longer one comes from a maintenance page or a
/// mistake.
pub(crate) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The object that a [`Status`] is about, and the causes in detail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// Name of the object.
    #[serde(deserialize_with = "lenient")]
    pub name: String,
    /// Group of the object's kind.
    #[serde(deserialize_with = "lenient")]
    pub group: String,
    /// Kind or plural of the object.
    #[serde(deserialize_with = "lenient")]
    pub kind: String,
    /// UID of the object.
    #[serde(deserialize_with = "lenient")]
    pub uid: String,
    /// One entry for each problem.
    #[serde(deserialize_with = "lenient")]
    pub causes: Vec<StatusCause>,
    /// Seconds to wait before the next attempt; 0 if the server sent no number or a negative one.
    #[serde(deserialize_with = "lenient")]
    pub retry_after_seconds: u32,
}

/// One cause within a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusCause {
    /// The cause, for programs: `FieldValueInvalid`, `FieldManagerConflict`, …
    #[serde(deserialize_with = "lenient")]
    pub reason: String,
    /// The cause, for people.
    #[serde(deserialize_with = "lenient")]
    pub message: String,
    /// Path of the field, such as `spec.replicas`.
    #[serde(deserialize_with = "lenient")]
    pub field: String,
}

impl Status {
    /// A status made by the client, for a response without one.
    pub fn from_code(code: u16, message: impl Into<String>) -> Self {
        Self {
            status: Some("Failure".into()),
            message: message.into(),
            code,
            ..Self::default()
        }
    }

    /// Whether the object does not exist or its kind is not served.
    pub fn is_not_found(&self) -> bool {
        self.is("NotFound", 404)
    }

    /// Whether the kind, its version or its subresource is missing, not just an object.
    ///
    /// The server names no object then. Neither does a proxy that responds in its place.
    pub fn is_not_served(&self) -> bool {
        let details = self.details.as_ref();
        let names_something =
            details.is_some_and(|details| !details.name.is_empty() || !details.kind.is_empty());
        self.is_not_found() && !names_something
    }

    /// Whether an object of this name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Whether another write came first, or another field manager owns a field.
    pub fn is_conflict(&self) -> bool {
        self.is("Conflict", 409)
    }

    /// Whether the object violates its schema or the kind's rules.
    pub fn is_invalid(&self) -> bool {
        self.is("Invalid", 422)
    }

    /// Whether the request itself is malformed.
    pub fn is_bad_request(&self) -> bool {
        self.is("BadRequest", 400)
    }

    /// Whether the server knows the identity but does not allow the request.
    pub fn is_forbidden(&self) -> bool {
        self.is("Forbidden", 403)
    }

    /// Whether the server does not know the identity.
    pub fn is_unauthorized(&self) -> bool {
        self.is("Unauthorized", 401)
    }

    /// Whether the server no longer has the requested resource version, with either reason (`Expired` or `Gone`). The
    /// caller must list again.
    pub fn is_expired(&self) -> bool {
        self.reason == "Expired" || self.is_gone()
    }

    /// Whether the requested version is gone for good (reason `Gone`, the older form of `Expired`).
    pub fn is_gone(&self) -> bool {
        self.is("Gone", 410)
    }

    /// Whether the server asks the client to slow down.
    pub fn is_too_many_requests(&self) -> bool {
        self.is("TooManyRequests", 429)
    }

    /// Whether the server gave up on the request. A write may have been applied.
    pub fn is_timeout(&self) -> bool {
        self.is("Timeout", 504)
    }

    /// Whether the server could not respond in time and asks the client to try again.
    pub fn is_server_timeout(&self) -> bool {
        self.reason == "ServerTimeout"
    }

    /// Whether the server, or one behind it, is unavailable now.
    pub fn is_service_unavailable(&self) -> bool {
        self.is("ServiceUnavailable", 503)
    }

    /// Whether the server failed internally.
    pub fn is_internal_error(&self) -> bool {
        self.is("InternalError", 500)
    }

    /// Whether the server cannot read the object from its store, because it cannot decrypt or decode it.
    pub fn is_store_read_error(&self) -> bool {
        self.reason == "StoreReadError"
    }

    /// Whether the kind does not have this verb.
    pub fn is_method_not_allowed(&self) -> bool {
        self.is("MethodNotAllowed", 405)
    }

    /// Whether the server supports none of the media types that the client accepts.
    pub fn is_not_acceptable(&self) -> bool {
        self.is("NotAcceptable", 406)
    }

    /// Whether the server does not support the media type of the request's body.
    pub fn is_unsupported_media_type(&self) -> bool {
        self.is("UnsupportedMediaType", 415)
    }

    /// Whether the object is larger than the server allows.
    pub fn is_request_entity_too_large(&self) -> bool {
        self.is("RequestEntityTooLarge", 413)
    }

    /// Whether one of the causes has this reason, such as `NamespaceTerminating` or `DisruptionBudget`.
    pub fn has_cause(&self, reason: &str) -> bool {
        self.cause(reason).is_some()
    }

    /// Returns the first cause with this reason, or `None` if the status does not have one.
    pub fn cause(&self, reason: &str) -> Option<&StatusCause> {
        self.causes().iter().find(|cause| cause.reason == reason)
    }

    /// All causes that the server reported.
    pub fn causes(&self) -> &[StatusCause] {
        let details = self.details.as_ref();
        details.map_or(&[], |details| &details.causes)
    }

    /// Whether the namespace is being deleted and accepts no new objects.
    pub fn is_namespace_terminating(&self) -> bool {
        self.has_cause("NamespaceTerminating")
    }

    /// The token that continues a paged list whose resource version has expired; `None` if the server sent none.
    ///
    /// The list then continues in the newest version. So the pages together are not of one version.
    pub fn inconsistent_continue_token(&self) -> Option<&str> {
        let token = self.metadata.continue_.as_deref();
        token.filter(|token| !token.is_empty() && self.is_expired())
    }

    /// Whether the requested resource version is newer than the newest one that this server has seen.
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

    /// The wait that the server asks for before the next attempt; `None` if it asks for none (client-go's
    /// `SuggestsClientDelay`).
    ///
    /// It is at most one minute. [`StatusDetails::retry_after_seconds`] has the number that the server sent.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()).min(LONGEST_RETRY_AFTER))
    }

    /// Compares the reason. The code counts only if Kubernetes does not know the reason.
    fn is(&self, reason: &str, code: u16) -> bool {
        self.reason == reason || (self.code == code && !REASONS.contains(&&*self.reason))
    }
}

/// The message, or reason and code if there is no message.
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
