use std::{error::Error as StdError, fmt, time::Duration};

use super::{Error, missing_rule::missing_rule};
use crate::client;

/// What reconcilers return; `Result<Action>` unless told otherwise.
pub type Result<T = super::Action> = std::result::Result<T, Failure>;

/// Why a reconcile failed, and whether and when it is tried again.
///
/// `?` makes one of any error. By default the key is retried with backoff, not before the time the
/// API server asked for. It is not an [`Error`](StdError) itself, so that `?` can convert.
///
/// What the API server refuses until a person changes something (403 and 422) is retried slowly: after 1 s, 2 s, 4 s, and
/// so on up to 300 s. [`retry_after`](Self::retry_after) overrules that. The client's error is found among the causes of
/// an error as well ([`source`](StdError::source)).
///
/// The text names the RBAC rule that is missing. The API server's message about a Secret is left out of it, because such a
/// message may quote a value.
///
/// ```
/// use pilothouse::controller::{Failure, Result};
///
/// fn parse(text: &str) -> Result<u32> {
///     // No retry helps until the object changes.
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
    nature: Nature,
    /// What to do about it.
    advice: Option<Box<str>>,
    /// A message of the server that must not be shown, and what stands in its place.
    hidden: Option<Box<(String, String)>>,
}

/// What may end a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Nature {
    /// Nobody knows.
    #[default]
    Unknown,
    /// It often ends by itself: a conflict, an overloaded server, a timeout.
    Passing,
    /// As [`Passing`](Self::Passing), and nothing can be sent to the API server meanwhile.
    Unreachable,
    /// A person has to change something.
    Person,
}

impl Failure {
    /// A failure that is only a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            error: text.into().into(),
            terminal: false,
            retry_after: None,
            conflict: false,
            gone: false,
            nature: Nature::Unknown,
            advice: None,
            hidden: None,
        }
    }

    /// The panic of a call.
    pub(super) fn panicked(message: &str) -> Self {
        Self::new(format!("panicked: {message}"))
    }

    /// A call that was dropped after `limit`.
    pub(super) fn timed_out(limit: Duration) -> Self {
        Self {
            nature: Nature::Passing,
            ..Self::new(format!("not done within {limit:?}"))
        }
    }

    /// The same failure, not to be retried before something changes.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// The same failure, to be retried after `delay` at the earliest; backoff may make it later. For a 403 or a 422
    /// this replaces the slow backoff.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        if self.nature == Nature::Person {
            self.nature = Nature::Unknown;
        }
        self
    }

    /// Whether it is not retried.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The error.
    pub fn error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.error
    }

    /// The same failure, of which only the text is left.
    pub(super) fn told(self) -> Self {
        Self {
            error: self.to_string().into(),
            advice: None,
            hidden: None,
            ..self
        }
    }

    /// Whether somebody else had changed the object meanwhile.
    pub(super) fn is_conflict(&self) -> bool {
        self.conflict
    }

    /// Whether the reconciled object is gone: nothing went wrong, and its deletion is still to be heard of.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether nothing but a person ends it, so that it is retried slowly.
    pub(super) fn needs_person(&self) -> bool {
        self.nature == Nature::Person
    }

    /// Whether it often ends by itself within a short time.
    pub(super) fn is_passing(&self) -> bool {
        !self.terminal && matches!(self.nature, Nature::Passing | Nature::Unreachable)
    }

    /// Whether nothing can be sent to the API server.
    pub(super) fn is_unreachable(&self) -> bool {
        self.nature == Nature::Unreachable
    }

    pub(super) fn at_least(&self) -> Duration {
        self.retry_after.unwrap_or_default()
    }

    /// Of any error: built once, and not for each type of error.
    fn of(error: Box<dyn StdError + Send + Sync>) -> Self {
        let ours = chain(&*error).find_map(|one| one.downcast_ref::<Error>());
        let gone = matches!(ours, Some(Error::Gone { .. }));
        let client = chain(&*error).find_map(|one| {
            let ours = one.downcast_ref::<Error>().and_then(Error::client);
            ours.or(one.downcast_ref::<client::Error>())
        });
        let retry_after = client.and_then(client::Error::retry_after);
        // Nothing but another program mends that.
        let terminal = client.is_some_and(client::Error::is_not_declared);
        let conflict = client.is_some_and(client::Error::is_conflict);
        let nature = client.map(Nature::of).unwrap_or_default();
        let status = client.and_then(client::Error::status);
        let advice = status
            .filter(|status| status.is_forbidden())
            .and_then(|status| {
                let is_apply = client.and_then(client::Error::verb) == Some("apply");
                missing_rule(&status.message, is_apply)
            });
        let hidden = client.and_then(hidden);
        Self {
            terminal,
            retry_after,
            conflict,
            gone,
            nature,
            advice: advice.map(String::into_boxed_str),
            hidden,
            error,
        }
    }
}

impl Nature {
    fn of(error: &client::Error) -> Self {
        use client::Error::{Connect, Fenced, Timeout, Transport};
        match error {
            Connect { .. } | Transport { .. } | Timeout { .. } | Fenced { .. } => Self::Unreachable,
            _ if error.is_forbidden() || error.is_invalid() => Self::Person,
            _ if error.is_transient() || error.is_conflict() => Self::Passing,
            _ => Self::Unknown,
        }
    }
}

/// The error and what caused it.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |one| (*one).source())
}

/// The server's message if it is about a Secret, and instead of it which fields are wrong, without their values.
fn hidden(error: &client::Error) -> Option<Box<(String, String)>> {
    let client::Error::Api { target, status, .. } = error else {
        return None;
    };
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

/// The error and what caused it, in one line.
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
        if let Some(advice) = &self.advice {
            text = format!("{text}: {advice}");
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
    use crate::resource::{Status, StatusCause, StatusDetails};

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
    fn a_refusal_is_known_by_its_cause_and_needs_a_person() {
        for (code, reason) in [(403, "Forbidden"), (422, "Invalid")] {
            let failure = Failure::from(Wrapped(refused(code, reason, "no", "ConfigMap")));
            assert!(failure.needs_person() && !failure.is_passing(), "{code}");
            assert!(
                !failure.retry_after(Duration::ZERO).needs_person(),
                "{code}"
            );
        }
        for (code, reason) in [(409, "Conflict"), (429, "TooManyRequests"), (503, "")] {
            let failure = Failure::from(Wrapped(refused(code, reason, "no", "ConfigMap")));
            assert!(!failure.needs_person() && failure.is_passing(), "{code}");
        }
        assert!(!Failure::new("x").is_passing() && !Failure::new("x").needs_person());
    }

    #[test]
    fn the_text_names_the_rule_that_is_missing() {
        let message = "configmaps \"a\" is forbidden: User \"op\" cannot patch resource \"configmaps\" in API group \
                       \"\" in the namespace \"default\"";
        let text = Failure::from(Wrapped(refused(403, "Forbidden", message, "configmaps"))).told();
        assert!(
            text.to_string().ends_with(
                "in the namespace \"default\": bind op to a Role in default with apiGroups: [\"\"], \
                 resources: [\"configmaps\"], verbs: [\"create\", \"patch\"]"
            ),
            "{text}"
        );
    }

    #[test]
    fn the_server_s_message_about_a_secret_is_not_shown() {
        let message = "Secret \"a\" is invalid: data[a]: Invalid value: \"hunter2\"";
        let text = Failure::from(Wrapped(refused(422, "Invalid", message, "Secret"))).told();
        assert_eq!(
            text.to_string(),
            "build the site: apply Secret default/a: Invalid, data[a] FieldValueInvalid (a message about a Secret is not shown)"
        );
        let text = Failure::from(refused(422, "Invalid", message, "ConfigMap")).to_string();
        assert!(text.contains("hunter2"), "{text}");
    }

    #[test]
    fn the_server_s_wish_to_wait_is_kept() {
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
        assert_eq!(Failure::from(error()).at_least(), seven);
        assert_eq!(Failure::from(Error::from(error())).at_least(), seven);
        assert_eq!(Failure::new("x").at_least(), Duration::ZERO);
    }
}
