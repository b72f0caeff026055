use std::{fmt, time::Duration};

use http::StatusCode;

use super::{
    ConfigError, ConnectError, Deadline, NotDeclared, chain::Chain, stack::TimedOut,
    transport::Lagged,
};
use crate::resource::{Status, Undecodable};

/// Why a request failed: what was tried on what, and what came of it.
///
/// The text is one line, such as `patch Deployment default/web: conflict: …`. It never holds a
/// token, a key or an object; of a page that no API server wrote it shows the beginning.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The API server answered with an error.
    #[error("{verb} {target}: {}{}", Told(.status), Advice(.advice.as_deref()))]
    #[non_exhaustive]
    Api {
        /// What was tried, as RBAC names it: `get`, `list`, `patch`, …
        verb: &'static str,
        /// On what: `Deployment default/web`, or `deployments.apps in default`.
        target: String,
        /// The server's answer, kept whole.
        status: Box<Status>,
        /// What to do about it, where the client knows.
        advice: Option<Box<str>>,
    },
    /// No connection to the server could be made; nothing was sent.
    #[error("{verb} {target}: {source}")]
    #[non_exhaustive]
    Connect {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// Why.
        source: ConnectError,
    },
    /// The connection broke. A write may or may not have been done.
    #[error("{verb} {target}: the connection to the API server broke: {}", Chain(.source.as_ref()))]
    #[non_exhaustive]
    Transport {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// What happened.
        source: BoxError,
    },
    /// One of the [`Deadlines`](super::Deadlines) ran out. A write may or may not have been done.
    #[error("{verb} {target}: {}", TimedOut { deadline: *.deadline, after: *.after })]
    #[non_exhaustive]
    Timeout {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// Which one.
        deadline: Deadline,
        /// How long it was.
        after: Duration,
    },
    /// The events of a watch, or the lines of a log, were not read, so it was ended: for some 30 s more
    /// than 256 KiB were waiting. Watch again from the last version seen, or list.
    #[error("{verb} {target}: {}", Lagged(*.after))]
    #[non_exhaustive]
    Lagged {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// How long nobody read.
        after: Duration,
    },
    /// The client may not send any more; see [`Client::fenced`](super::Client::fenced). Nothing was sent.
    #[error("{verb} {target}: not sent: {source}")]
    #[non_exhaustive]
    Fenced {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// Why.
        source: BoxError,
    },
    /// The program did not declare that it does this; see [`Client::guarded`](super::Client::guarded).
    /// Nothing was sent.
    #[error("{verb} {target}: {source}")]
    #[non_exhaustive]
    NotDeclared {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// What is missing, and the line to add.
        source: Box<NotDeclared>,
    },
    /// The answer is not what was expected of it.
    #[error("{verb} {target}: the answer cannot be decoded: {reason}")]
    #[non_exhaustive]
    Decode {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// Path and expectation; never the value.
        reason: String,
    },
    /// A list in pages does not come to its end.
    #[error(
        "{verb} {target}: the list does not end: {reason}: check the server of this kind, and proxies on the way"
    )]
    #[non_exhaustive]
    NoProgress {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// How this was noticed.
        reason: String,
    },
    /// The request cannot be written: a name, a namespace or a parameter does not fit. Nothing was sent.
    #[error("{verb} {target}: {reason}")]
    #[non_exhaustive]
    Invalid {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// What does not fit, and what to do.
        reason: String,
    },
    /// One object of a list does not fit the type; it is there all the same.
    #[error("{verb} {object}")]
    #[non_exhaustive]
    Undecodable {
        /// What was tried.
        verb: &'static str,
        /// What could be read of the object, and what does not fit.
        object: Box<Undecodable>,
    },
    /// The configuration does not do.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Any error, as tower's layers pass it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    /// An error that the API server answered; for those who stand in for it.
    pub fn api(verb: &'static str, target: impl Into<String>, status: Status) -> Self {
        Self::Api {
            verb,
            target: target.into(),
            status: Box::new(status),
            advice: None,
        }
    }

    /// The server's answer, if there was one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api { status, .. } => Some(status),
            _ => None,
        }
    }

    /// What was tried: `get`, `list`, `watch`, …
    pub fn verb(&self) -> Option<&'static str> {
        match self {
            Self::Api { verb, .. }
            | Self::Connect { verb, .. }
            | Self::Transport { verb, .. }
            | Self::Timeout { verb, .. }
            | Self::Fenced { verb, .. }
            | Self::NotDeclared { verb, .. }
            | Self::Lagged { verb, .. }
            | Self::Decode { verb, .. }
            | Self::NoProgress { verb, .. }
            | Self::Undecodable { verb, .. }
            | Self::Invalid { verb, .. } => Some(verb),
            Self::Config(_) => None,
        }
    }

    /// The object does not exist, or its kind is not served.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// The kind, its version or the subresource is not served, or a proxy on the way answered 404:
    /// nothing is known about the object. [`is_not_found`](Self::is_not_found) says yes to this too.
    pub fn is_not_served(&self) -> bool {
        self.status().is_some_and(Status::is_not_served)
    }

    /// An object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists) || self.is_bare_conflict_of_create()
    }

    /// Another write came first, or another field manager owns a field.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict) && !self.is_bare_conflict_of_create()
    }

    /// The object breaks its schema or the kind's rules.
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(Status::is_invalid)
    }

    /// The request itself makes no sense to the server.
    pub fn is_bad_request(&self) -> bool {
        self.status().is_some_and(Status::is_bad_request)
    }

    /// The identity is known but not allowed to do this.
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(Status::is_forbidden)
    }

    /// The program did not declare that it does this: a mistake in the program, which trying again
    /// does not mend.
    pub fn is_not_declared(&self) -> bool {
        matches!(self, Self::NotDeclared { .. })
    }

    /// The identity is not known.
    pub fn is_unauthorized(&self) -> bool {
        self.status().is_some_and(Status::is_unauthorized)
    }

    /// The resource version asked for is no longer kept, whichever of its two reasons says so: list
    /// again.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }

    /// What was asked for is gone for good (reason `Gone`, the older form of `Expired`).
    pub fn is_gone(&self) -> bool {
        self.status().is_some_and(Status::is_gone)
    }

    /// The server asks to slow down.
    pub fn is_too_many_requests(&self) -> bool {
        self.status().is_some_and(Status::is_too_many_requests)
    }

    /// The server gave up on the request; a write may have been done. That the client gave up is
    /// [`Error::Timeout`].
    pub fn is_timeout(&self) -> bool {
        self.status().is_some_and(Status::is_timeout)
    }

    /// The server could not answer in time and asks to try again.
    pub fn is_server_timeout(&self) -> bool {
        self.status().is_some_and(Status::is_server_timeout)
    }

    /// The server, or one behind it, is not there now.
    pub fn is_service_unavailable(&self) -> bool {
        self.status().is_some_and(Status::is_service_unavailable)
    }

    /// Something broke within the server.
    pub fn is_internal_error(&self) -> bool {
        self.status().is_some_and(Status::is_internal_error)
    }

    /// The server cannot read the object from its store: it does not decrypt or decode.
    pub fn is_store_read_error(&self) -> bool {
        self.status().is_some_and(Status::is_store_read_error)
    }

    /// The kind does not have this verb.
    pub fn is_method_not_allowed(&self) -> bool {
        self.status().is_some_and(Status::is_method_not_allowed)
    }

    /// The server cannot answer in any of the forms that were asked for.
    pub fn is_not_acceptable(&self) -> bool {
        self.status().is_some_and(Status::is_not_acceptable)
    }

    /// The server does not take a body of this form.
    pub fn is_unsupported_media_type(&self) -> bool {
        self.status().is_some_and(Status::is_unsupported_media_type)
    }

    /// The object is larger than the server takes.
    pub fn is_request_entity_too_large(&self) -> bool {
        self.status()
            .is_some_and(Status::is_request_entity_too_large)
    }

    /// The namespace is being deleted and takes nothing new.
    pub fn is_namespace_terminating(&self) -> bool {
        self.status().is_some_and(Status::is_namespace_terminating)
    }

    /// One of the server's causes has this reason, such as `DisruptionBudget`.
    pub fn has_cause(&self, reason: &str) -> bool {
        self.status().is_some_and(|status| status.has_cause(reason))
    }

    /// The resource version asked for is newer than what this server has seen yet.
    pub fn is_too_large_resource_version(&self) -> bool {
        let status = self.status();
        status.is_some_and(Status::is_too_large_resource_version)
    }

    /// How long the server asks to wait before the next attempt, if it does (client-go's
    /// `SuggestsClientDelay`).
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.retry_after()
    }

    /// Whether there was no connection to the server, or none that answered in time.
    pub(crate) fn is_connection_failure(&self) -> bool {
        matches!(
            self,
            Self::Connect { .. } | Self::Transport { .. } | Self::Timeout { .. }
        )
    }

    /// Whether the same request may well succeed later: nothing is wrong with it, but the server
    /// or the way to it was not up to it. A write is sent again only when
    /// [`is_outcome_unknown`](Self::is_outcome_unknown) is not the case, or it may be done twice.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Api { status, .. } => {
                status.is_too_many_requests()
                    || (status.code >= 500
                        && !status.is_store_read_error()
                        && status.code != StatusCode::NOT_IMPLEMENTED.as_u16())
            }
            _ => self.is_connection_failure(),
        }
    }

    /// Without a `Status` of the server's, what a refused creation met is an object of that name.
    fn is_bare_conflict_of_create(&self) -> bool {
        let status = self.status();
        self.verb() == Some("create")
            && status.is_some_and(|status| status.reason.is_empty() && status.is_conflict())
    }

    /// Whether the request may have been done although it failed.
    pub fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::Transport { .. } | Self::Timeout { .. } | Self::Decode { .. } => true,
            Self::Api { status, .. } => status.code >= 500,
            _ => false,
        }
    }
}

/// Reason in words, then the message, unless the message says it already.
struct Told<'a>(&'a Status);

/// An error's text shows no more bytes of a server's message: it is logged, and shown by readiness.
const LONGEST_SHOWN: usize = 4 * 1024;

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.0;
        let words = reason_in_words(status);
        if status.message.is_empty() {
            return if words.is_empty() {
                write!(f, "HTTP {}", status.code)
            } else {
                write!(f, "{words} (HTTP {})", status.code)
            };
        }
        if !words.is_empty() && !status.message.to_lowercase().contains(&words) {
            write!(f, "{words}: ")?;
        }
        let shown = status.message.floor_char_boundary(LONGEST_SHOWN);
        f.write_str(&status.message[..shown])?;
        if shown < status.message.len() {
            let left_out = status.message.len() - shown;
            write!(f, "… ({left_out} more bytes)")?;
        }
        Ok(())
    }
}

/// `AlreadyExists` becomes `already exists`; without a reason the code's own words.
fn reason_in_words(status: &Status) -> String {
    if status.reason.is_empty() {
        let code = StatusCode::from_u16(status.code).ok();
        let words = code.and_then(|code| code.canonical_reason());
        return words.unwrap_or_default().to_lowercase();
    }
    let mut words = String::with_capacity(status.reason.len() + 4);
    for letter in status.reason.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

struct Advice<'a>(Option<&'a str>);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(advice) => write!(f, ": {advice}"),
            None => Ok(()),
        }
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
    fn a_409_without_a_status_is_read_by_its_verb() {
        let bare = |verb| Error::api(verb, "ConfigMap default/a", Status::from_code(409, ""));
        let created = bare("create");
        assert!(created.is_already_exists() && !created.is_conflict());
        let updated = bare("update");
        assert!(updated.is_conflict() && !updated.is_already_exists());
    }

    #[test]
    fn an_error_says_what_was_tried_on_what_and_why_it_failed() {
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
