use std::{error::Error as StdError, fmt, time::Duration};

use super::error::Error;
use crate::{client, health::CaughtPanic, resource::ObjectKey};

/// What reconcilers return. By default the success value is an [`Action`](crate::controller::Action).
pub type Result<T = crate::controller::action::Action> = std::result::Result<T, Failure>;

/// Why a reconcile failed, and whether and when the key is retried.
///
/// `?` converts any error into a `Failure`. By default the key is retried with backoff, and not before the time that the
/// API server asked for. `Failure` is not an [`Error`](StdError) itself: otherwise `?` could not convert.
///
/// What lasts until a person changes something is retried slowly: after 1 s, 2 s, 4 s, and so on up to 300 s. This is a
/// request that the API server refuses (403 and 422), and a child that belongs to others ([`Error::OwnedByAnother`] and
/// [`Error::NotAdopted`]). [`retry_after`](Self::retry_after) overrides this. Such an error is also found if it is only a
/// cause of the error ([`source`](StdError::source)).
///
/// The text names the RBAC rule that is missing (the client's [hint](client::Error::hint)). It leaves out the API server's message about a Secret, because such a
/// message may quote a value.
///
/// ```
/// use pilothouse::controller::{Failure, Result};
///
/// fn parse(text: &str) -> Result<u32> {
///     // No retry helps before the object changes.
///     text.parse().map_err(|error| Failure::from(error).terminal())
/// }
/// assert!(parse("x").unwrap_err().is_terminal());
/// ```
pub struct Failure {
    error: Box<dyn StdError + Send + Sync>,
    terminal: bool,
    retry_after: Option<Duration>,
    conflict: bool,
    gone: bool,
    /// Kind and key of an object that is being deleted.
    deleting: Option<Box<(&'static str, ObjectKey)>>,
    duration: FailureDuration,
    /// A message of the server that must not be shown, and the text that replaces it.
    hidden: Option<Box<(String, String)>>,
}

/// What ends a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FailureDuration {
    /// The error does not tell.
    #[default]
    Unknown,
    /// Time: a conflict, an overloaded server, a timeout.
    Transient,
    /// Time, and no request reaches the API server meanwhile.
    Unreachable,
    /// A change by a person.
    Person,
}

impl Failure {
    /// A failure with only a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            error: text.into().into(),
            deleting: None,
            terminal: false,
            retry_after: None,
            conflict: false,
            gone: false,
            duration: FailureDuration::Unknown,
            hidden: None,
        }
    }

    /// The failure of a call that panicked.
    pub(crate) fn panicked(panic: &CaughtPanic) -> Self {
        Self::new(format!("panicked: {panic}"))
    }

    /// The failure of a call that was dropped after `limit`.
    pub(crate) fn timed_out(limit: Duration) -> Self {
        Self {
            duration: FailureDuration::Transient,
            ..Self::new(format!("not done within {limit:?}"))
        }
    }

    /// The same failure, without a retry: the next reconcile comes when something changes.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// The same failure, with a retry after `delay` at the earliest. Backoff may make it later. For a failure that needs a
    /// person this replaces the slow backoff.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        if self.duration == FailureDuration::Person {
            self.duration = FailureDuration::Unknown;
        }
        self
    }

    /// Whether the key is not retried.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The error that was converted.
    pub fn error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.error
    }

    /// The same failure with only its text: the text is made once, and the error is dropped.
    pub(crate) fn into_text(self) -> Self {
        Self {
            error: self.to_string().into(),
            hidden: None,
            ..self
        }
    }

    /// The same failure with only its text, followed by that of another one.
    pub(crate) fn and_also(self, other: &Self) -> Self {
        Self {
            error: format!("{self}; also: {other}").into(),
            ..self.into_text()
        }
    }

    /// Whether the request failed because another client had changed the object.
    pub(crate) fn is_conflict(&self) -> bool {
        self.conflict
    }

    /// Whether the reconciled object is gone. Then nothing went wrong, and the event of its deletion is still to come.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether the cause is that this object is being deleted. Nothing went wrong then.
    pub(crate) fn is_deletion_of(&self, kind: &str, key: &ObjectKey) -> bool {
        let deleting = self.deleting.as_deref();
        deleting.is_some_and(|deleting| deleting.0 == kind && deleting.1 == *key)
    }

    /// Whether only a person can end the failure, so that the key is retried slowly.
    pub(crate) fn needs_person(&self) -> bool {
        self.duration == FailureDuration::Person
    }

    /// Whether the failure often ends by itself within a short time.
    pub(crate) fn is_transient(&self) -> bool {
        !self.terminal
            && matches!(
                self.duration,
                FailureDuration::Transient | FailureDuration::Unreachable
            )
    }

    /// Whether no request reaches the API server.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.duration == FailureDuration::Unreachable
    }

    /// The lower bound of the delay before the retry.
    pub(crate) fn minimum_delay(&self) -> Duration {
        self.retry_after.unwrap_or_default()
    }

    /// From any error. Not generic, so that it is compiled once and not per error type.
    fn of(error: Box<dyn StdError + Send + Sync>) -> Self {
        let ours = chain(&*error).find_map(|one| one.downcast_ref::<Error>());
        let gone = matches!(ours, Some(Error::Gone { .. }));
        let deleting = match ours {
            Some(Error::BeingDeleted { kind, key, .. }) => Some(Box::new((*kind, key.clone()))),
            _ => None,
        };
        let client = chain(&*error).find_map(|one| {
            let ours = one.downcast_ref::<Error>().and_then(Error::client);
            ours.or(one.downcast_ref::<client::Error>())
        });
        let retry_after = client.and_then(client::Error::retry_after);
        // Only another version of the program can end this.
        let terminal = client.is_some_and(client::Error::is_not_declared);
        let conflict = client.is_some_and(client::Error::is_conflict);
        let duration = match ours {
            Some(Error::OwnedByAnother { .. } | Error::NotAdopted { .. }) => {
                FailureDuration::Person
            }
            _ => client.map(FailureDuration::of).unwrap_or_default(),
        };
        let hidden = client.and_then(hidden);
        Self {
            terminal,
            retry_after,
            conflict,
            gone,
            deleting,
            duration,
            hidden,
            error,
        }
    }
}

impl FailureDuration {
    fn of(error: &client::Error) -> Self {
        use client::ErrorKind::{Connect, Fenced, Timeout, Transport};
        match error.kind() {
            Connect(_) | Transport(_) | Timeout { .. } | Fenced(_) => Self::Unreachable,
            _ if error.is_forbidden() || error.is_invalid() => Self::Person,
            _ if error.is_transient() || error.is_conflict() => Self::Transient,
            _ => Self::Unknown,
        }
    }
}

/// The error and its causes.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |one| (*one).source())
}

/// The server's message if it is about a Secret, and a text to show instead: which fields are wrong, without their values.
fn hidden(error: &client::Error) -> Option<Box<(String, String)>> {
    let (target, status) = (error.target(), error.status()?);
    let kind = status.details.as_ref().map(|details| &*details.kind);
    let is_secret = matches!(kind, Some("Secret" | "secrets"))
        || target.starts_with("Secret ")
        || target.starts_with("secrets ");
    if !is_secret || status.message.is_empty() {
        return None;
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields = causes.map(|cause| format!(", {} {}", cause.field, cause.reason));
    let fields: String = fields.collect();
    let reason = match &*status.reason {
        "" => "refused",
        reason => reason,
    };
    let instead = format!("{reason}{fields} (a message about a Secret is not shown)");
    Some(Box::new((status.message.clone(), instead)))
}

impl<E: StdError + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::of(Box::new(error))
    }
}

/// The error and its causes in one line.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let more = error.to_string();
            // Many errors repeat their cause in their own text.
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            cause = error.source();
        }
        if let Some((message, instead)) = self.hidden.as_deref() {
            text = text.replace(message, instead);
        }
        f.write_str(&text.replace('\n', " "))
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("error", &self.error)
            .field("terminal", &self.terminal)
            .field("retry_after", &self.retry_after)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{ObjectKey, Status, StatusCause, StatusDetails};

    #[derive(Debug, thiserror::Error)]
    #[error("render the page")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn the_text_is_the_whole_chain_in_one_line() {
        let cause = "x".parse::<u8>().unwrap_err();
        assert_eq!(
            Failure::from(Outer(cause)).to_string(),
            "render the page: invalid digit found in string"
        );
    }

    fn refused(code: u16, reason: &str, message: &str, kind: &str) -> client::Error {
        let cause = StatusCause {
            reason: "FieldValueInvalid".into(),
            message: message.into(),
            field: "data[a]".into(),
        };
        let status = Status {
            reason: reason.into(),
            details: Some(StatusDetails {
                kind: kind.into(),
                causes: vec![cause],
                ..StatusDetails::default()
            }),
            ..Status::from_code(code, message)
        };
        client::Error::api("apply", format!("{kind} default/a"), status)
    }

    #[derive(Debug, thiserror::Error)]
    #[error("build the site")]
    struct Wrapped(#[source] client::Error);

    #[test]
    fn a_refused_request_is_recognized_among_the_causes_and_needs_a_person() {
        for (code, reason) in [(403, "Forbidden"), (422, "Invalid")] {
            let failure = Failure::from(Wrapped(refused(code, reason, "no", "ConfigMap")));
            assert!(failure.needs_person() && !failure.is_transient(), "{code}");
            assert!(
                !failure.retry_after(Duration::ZERO).needs_person(),
                "{code}"
            );
        }
        for (code, reason) in [(409, "Conflict"), (429, "TooManyRequests"), (503, "")] {
            let failure = Failure::from(Wrapped(refused(code, reason, "no", "ConfigMap")));
            assert!(!failure.needs_person() && failure.is_transient(), "{code}");
        }
        assert!(!Failure::new("x").is_transient() && !Failure::new("x").needs_person());
    }

    #[test]
    fn a_child_that_belongs_to_others_needs_a_person() {
        let child = || ObjectKey::namespaced("default", "page");
        let foreign = Error::NotAdopted {
            verb: "apply",
            kind: "ConfigMap".into(),
            child: child(),
            owner: "Website default/web".into(),
            adopt: "`cx.adopt(&object)`",
        };
        let owned = Error::OwnedByAnother {
            verb: "apply",
            kind: "ConfigMap".into(),
            child: child(),
            owner: "Website zoo".into(),
        };
        for error in [foreign, owned] {
            let failure = Failure::from(error);
            assert!(
                failure.needs_person() && !failure.is_transient(),
                "{failure}"
            );
        }
    }

    #[test]
    fn the_server_message_about_a_secret_is_not_shown() {
        let message = "Secret \"a\" is invalid: data[a]: Invalid value: \"hunter2\"";
        let text = Failure::from(Wrapped(refused(422, "Invalid", message, "Secret"))).into_text();
        assert_eq!(
            text.to_string(),
            "build the site: apply Secret default/a: Invalid, data[a] FieldValueInvalid (a message about a Secret is not shown)"
        );
        let text = Failure::from(refused(422, "Invalid", message, "ConfigMap")).to_string();
        assert!(text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_message_about_a_secret_is_not_shown_if_the_answer_names_no_kind() {
        let denied = Status::from_code(400, "admission webhook denied: value \"hunter2\"");
        for target in ["Secret default/a", "secrets in default"] {
            let error = client::Error::api("apply", target.to_owned(), denied.clone());
            let text = Failure::from(error).to_string();
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn the_delay_that_the_server_asked_for_is_kept() {
        let status = Status {
            code: 429,
            details: Some(StatusDetails {
                retry_after_seconds: 7,
                ..StatusDetails::default()
            }),
            ..Status::default()
        };
        let error = || client::Error::api("patch", "Deployment default/web", status.clone());
        let seven = Duration::from_secs(7);
        assert_eq!(Failure::from(error()).minimum_delay(), seven);
        assert_eq!(Failure::from(Error::from(error())).minimum_delay(), seven);
        assert_eq!(Failure::new("x").minimum_delay(), Duration::ZERO);
    }
}
