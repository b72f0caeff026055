use std::{error::Error as StdError, fmt, time::Duration};

use super::{BoxError, ErrorKind};
use crate::{
    client::ConfigError,
    resource::{Status, Undecodable},
};

/// The error of a request: what was tried, on which object or path, and what went wrong.
///
/// [`verb`](Self::verb) and [`target`](Self::target) say what was tried. [`kind`](Self::kind) says what went wrong. The
/// predicates, such as [`is_conflict`](Self::is_conflict), answer the usual questions about the kind.
///
/// The text is one line, such as `patch Deployment default/web: conflict: …`. It never holds a token, a key or an object.
/// If a proxy's page came instead of an API server's answer, the text shows the beginning of the page.
///
/// ```
/// # use pilothouse::client::{Error, ErrorKind};
/// # fn example(error: Error) {
/// match error.kind() {
///     ErrorKind::Api(status) => println!("the server answered {}", status.code),
///     ErrorKind::Timeout { after, .. } => println!("no answer within {after:?}"),
///     _ if error.is_transient() => println!("try again: {error}"),
///     _ => println!("{error}"),
/// }
/// # }
/// ```
pub struct Error {
    verb: Option<&'static str>,
    target: String,
    kind: ErrorKind,
    hint: Option<Box<str>>,
}

impl Error {
    /// An error of `verb` on `target`. `verb` is the verb of RBAC: `get`, `list`, `patch`, …. `target` names the object or
    /// the path: `Deployment default/web`, `deployments.apps in default`, or `GET /version`.
    ///
    /// The client makes such errors by itself. A program needs this function only in place of a client, such as in a test.
    pub fn new(verb: &'static str, target: impl Into<String>, kind: ErrorKind) -> Self {
        Self {
            verb: Some(verb),
            target: target.into(),
            kind,
            hint: None,
        }
    }

    /// An error that the API server answered. The same as [`new`](Self::new) with [`ErrorKind::Api`].
    pub fn api(verb: &'static str, target: impl Into<String>, status: Status) -> Self {
        Self::new(verb, target, ErrorKind::Api(Box::new(status)))
    }

    /// One object of an answer does not fit the Rust type.
    pub(crate) fn undecodable(verb: &'static str, object: Undecodable) -> Self {
        let target = format!("{} {}", object.resource.kind, object.key);
        Self::new(verb, target, ErrorKind::Undecodable(Box::new(object)))
    }

    /// The error of a request that the stack or the transport returned.
    pub(crate) fn from_stack(
        verb: &'static str,
        target: impl Into<String>,
        error: BoxError,
    ) -> Self {
        Self::new(verb, target, ErrorKind::from_stack(error))
    }

    /// What was tried, as RBAC names it: `get`, `list`, `patch`, …. Requests without a verb are `send`.
    ///
    /// `None` if the [configuration](ErrorKind::Config) was refused before there was a request.
    pub fn verb(&self) -> Option<&'static str> {
        self.verb
    }

    /// The object or the path: `Deployment default/web`, `deployments.apps in default`, or `GET /version`.
    ///
    /// Empty if the [configuration](ErrorKind::Config) was refused before there was a request.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// What went wrong, by value.
    pub fn into_kind(self) -> ErrorKind {
        self.kind
    }

    /// What the reader of the error can do about it, if the client knows. The text of the error ends with it. If the API
    /// server's authorizer refused the request (403), this is the missing RBAC rule.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The same error with another verb: that of the caller, if the request had a verb of its own.
    #[must_use]
    pub fn with_verb(mut self, verb: &'static str) -> Self {
        self.verb = Some(verb);
        self
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: Option<Box<str>>) -> Self {
        self.hint = hint;
        self
    }

    pub(crate) fn kind_mut(&mut self) -> &mut ErrorKind {
        &mut self.kind
    }

    /// The text of the error without verb and target.
    pub(crate) fn reason(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}: {hint}", self.kind),
            None => self.kind.to_string(),
        }
    }

    /// As [`reason`](Self::reason), with another hint in place of its own.
    pub(crate) fn reason_with_hint(&self, hint: &str) -> String {
        format!("{}: {hint}", self.kind)
    }

    /// The API server's answer. `None` if there was no answer, or no error in it.
    pub fn status(&self) -> Option<&Status> {
        match &self.kind {
            ErrorKind::Api(status) => Some(status),
            _ => None,
        }
    }

    fn has_status(&self, is: impl FnOnce(&Status) -> bool) -> bool {
        self.status().is_some_and(is)
    }

    /// Whether the object does not exist, or its kind is not served.
    pub fn is_not_found(&self) -> bool {
        self.has_status(Status::is_not_found)
    }

    /// Whether the kind, its version or the subresource is not served, or a proxy on the way answered 404. The error then
    /// says nothing about the object. [`is_not_found`](Self::is_not_found) is true for such an error, too.
    pub fn is_not_served(&self) -> bool {
        self.has_status(Status::is_not_served)
    }

    /// Whether an object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.has_status(Status::is_already_exists) || self.is_bare_conflict_of_create()
    }

    /// Whether another write came first, or another field manager owns a field.
    pub fn is_conflict(&self) -> bool {
        self.has_status(Status::is_conflict) && !self.is_bare_conflict_of_create()
    }

    /// Whether the object breaks its schema or the rules of its kind.
    pub fn is_invalid(&self) -> bool {
        self.has_status(Status::is_invalid)
    }

    /// Whether the server did not understand the request.
    pub fn is_bad_request(&self) -> bool {
        self.has_status(Status::is_bad_request)
    }

    /// Whether the server knows the identity of the client but does not allow the request.
    pub fn is_forbidden(&self) -> bool {
        self.has_status(Status::is_forbidden)
    }

    /// Whether the program did not declare the request: a mistake in the program, which another attempt does not correct.
    pub fn is_not_declared(&self) -> bool {
        matches!(self.kind, ErrorKind::NotDeclared(_))
    }

    /// Whether the server does not know the identity of the client.
    pub fn is_unauthorized(&self) -> bool {
        self.has_status(Status::is_unauthorized)
    }

    /// Whether the server no longer has the requested resource version, for either of the two reasons `Expired` and
    /// `Gone`. The caller must list again.
    pub fn is_expired(&self) -> bool {
        self.has_status(Status::is_expired)
    }

    /// Whether the requested resource version is gone for good (reason `Gone`, the older form of `Expired`).
    pub fn is_gone(&self) -> bool {
        self.has_status(Status::is_gone)
    }

    /// Whether the server asks the client to slow down.
    pub fn is_too_many_requests(&self) -> bool {
        self.has_status(Status::is_too_many_requests)
    }

    /// Whether the server gave up on the request. A write may have been applied. If the client gave up, the kind is
    /// [`ErrorKind::Timeout`].
    pub fn is_timeout(&self) -> bool {
        self.has_status(Status::is_timeout)
    }

    /// Whether the server could not answer in time and asks the client to try again.
    pub fn is_server_timeout(&self) -> bool {
        self.has_status(Status::is_server_timeout)
    }

    /// Whether the server, or a server behind it, is not available now.
    pub fn is_service_unavailable(&self) -> bool {
        self.has_status(Status::is_service_unavailable)
    }

    /// Whether the request failed because of an error inside the server.
    pub fn is_internal_error(&self) -> bool {
        self.has_status(Status::is_internal_error)
    }

    /// Whether the server cannot decrypt or decode the object in its store.
    pub fn is_store_read_error(&self) -> bool {
        self.has_status(Status::is_store_read_error)
    }

    /// Whether the kind does not have this verb.
    pub fn is_method_not_allowed(&self) -> bool {
        self.has_status(Status::is_method_not_allowed)
    }

    /// Whether the server cannot answer in any of the media types of the request's `Accept` header.
    pub fn is_not_acceptable(&self) -> bool {
        self.has_status(Status::is_not_acceptable)
    }

    /// Whether the server does not accept the media type of the request's body.
    pub fn is_unsupported_media_type(&self) -> bool {
        self.has_status(Status::is_unsupported_media_type)
    }

    /// Whether the object is larger than the server accepts.
    pub fn is_request_entity_too_large(&self) -> bool {
        self.has_status(Status::is_request_entity_too_large)
    }

    /// Whether the namespace is being deleted and accepts no new objects.
    pub fn is_namespace_terminating(&self) -> bool {
        self.has_status(Status::is_namespace_terminating)
    }

    /// Whether one of the server's causes has this reason, such as `DisruptionBudget`.
    pub fn has_cause(&self, reason: &str) -> bool {
        self.has_status(|status| status.has_cause(reason))
    }

    /// Whether the requested resource version is newer than the newest one that this server has seen.
    pub fn is_too_large_resource_version(&self) -> bool {
        self.has_status(Status::is_too_large_resource_version)
    }

    /// How long the server asks the client to wait before the next attempt (client-go's `SuggestsClientDelay`). `None` if
    /// it does not ask.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.retry_after()
    }

    /// Whether there was no connection to the server, or no answer in time.
    pub(crate) fn is_connection_failure(&self) -> bool {
        self.kind.is_connection_failure()
    }

    /// Whether the same request may succeed later: the request is in order, but the server or the way to it failed.
    ///
    /// Repeat a write only if [`is_outcome_unknown`](Self::is_outcome_unknown) is false. Otherwise it may be applied
    /// twice.
    pub fn is_transient(&self) -> bool {
        self.kind.is_transient()
    }

    /// Whether the server may have applied the request although it failed.
    pub fn is_outcome_unknown(&self) -> bool {
        self.kind.is_outcome_unknown()
    }

    /// Whether the answer to `create` is a 409 without a `Status` of an API server. An object of that name exists then.
    fn is_bare_conflict_of_create(&self) -> bool {
        self.verb == Some("create")
            && self.has_status(|status| status.reason.is_empty() && status.is_conflict())
    }
}

impl From<ConfigError> for Error {
    /// An error of the configuration, found before there was a request.
    fn from(error: ConfigError) -> Self {
        Self {
            verb: None,
            target: String::new(),
            kind: ErrorKind::Config(error),
            hint: None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, self.verb) {
            // The text of these begins with the object.
            (ErrorKind::Undecodable(_), Some(verb)) => write!(f, "{verb} ")?,
            (_, Some(verb)) => write!(f, "{verb} {}: ", self.target)?,
            (_, None) => {}
        }
        write!(f, "{}", self.kind)?;
        match &self.hint {
            Some(hint) => write!(f, ": {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("verb", &self.verb)
            .field("target", &self.target)
            .field("kind", &self.kind)
            .field("hint", &self.hint)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.kind.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(reason: &str, message: &str, code: u16) -> String {
        let status = Status {
            reason: reason.into(),
            message: message.into(),
            code,
            ..Status::default()
        };
        Error::api("patch", "Deployment default/web", status).to_string()
    }

    #[test]
    fn a_409_without_a_status_is_classified_by_the_verb() {
        let bare = |verb| Error::api(verb, "ConfigMap default/a", Status::from_code(409, ""));
        let created = bare("create");
        assert!(created.is_already_exists() && !created.is_conflict());
        let updated = bare("update");
        assert!(updated.is_conflict() && !updated.is_already_exists());
    }

    #[test]
    fn the_text_names_verb_target_and_reason() {
        let table = [
            (
                text("Conflict", "the object has been modified", 409),
                "patch Deployment default/web: conflict: the object has been modified",
            ),
            (
                text("NotFound", "deployments.apps \"web\" not found", 404),
                "patch Deployment default/web: deployments.apps \"web\" not found",
            ),
            (
                text("AlreadyExists", "", 409),
                "patch Deployment default/web: already exists (HTTP 409)",
            ),
            (text("", "", 599), "patch Deployment default/web: HTTP 599"),
            (
                text("", "upstream is away", 503),
                "patch Deployment default/web: service unavailable: upstream is away",
            ),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
    }
}
