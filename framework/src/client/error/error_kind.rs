use std::{error::Error as StdError, fmt, time::Duration};

use http::StatusCode;

use super::{
    BoxError, Chain, ConnectError, DeadlineExpired, FenceClosed, InvalidGzip, NotDeclared,
    ReaderLagged,
};
use crate::{
    client::{ConfigError, Deadline},
    resource::{Status, Undecodable},
};

/// What went wrong with a request; see [`Error::kind`](super::Error::kind).
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The API server answered with an error: this is its answer, unchanged.
    Api(Box<Status>),
    /// The client could not connect to the server. It sent nothing.
    Connect(ConnectError),
    /// The connection broke. The server may have applied a write.
    Transport(BoxError),
    /// One of the [`Deadlines`](crate::client::Deadlines) expired. The server may have applied a write.
    Timeout {
        /// Which deadline expired.
        deadline: Deadline,
        /// How long the deadline was.
        after: Duration,
    },
    /// The caller did not read the events of a watch, or the lines of a log, so the client ended the stream: for about
    /// 30 s more than 256 KiB were unread. Watch again from the last resource version, or list.
    Lagged {
        /// How long the caller did not read.
        after: Duration,
    },
    /// The fence of the client is closed; see [`Client::fenced`](crate::client::Client::fenced). The client sent nothing.
    Fenced(BoxError),
    /// The program did not declare this request; see [`Client::guarded`](crate::client::Client::guarded). The client sent
    /// nothing.
    NotDeclared(Box<NotDeclared>),
    /// The answer does not have the expected form. A write was applied if the server answered with success.
    Decode {
        /// The path of the field and the expected type, never the value.
        reason: String,
    },
    /// A list in pages does not end.
    NoProgress {
        /// How the client noticed.
        reason: String,
    },
    /// The request cannot be written, because a name, a namespace or a parameter is not valid. The client sent nothing.
    Invalid {
        /// What is not valid, and what to do.
        reason: String,
    },
    /// One object of a list does not fit the Rust type. The object still exists.
    Undecodable(Box<Undecodable>),
    /// The configuration is invalid.
    Config(ConfigError),
}

impl ErrorKind {
    /// Finds the cause that the stack or the transport returned.
    pub(crate) fn from_stack(error: BoxError) -> Self {
        let error = match error.downcast::<ConnectError>() {
            Ok(error) => return Self::Connect(*error),
            Err(error) => error,
        };
        let error = match error.downcast::<ConfigError>() {
            Ok(error) => return Self::Config(*error),
            Err(error) => error,
        };
        let error = match error.downcast::<FenceClosed>() {
            Ok(closed) => return Self::Fenced(closed.0),
            Err(error) => error,
        };
        let error = match error.downcast::<NotDeclared>() {
            Ok(error) => return Self::NotDeclared(error),
            Err(error) => error,
        };
        if let Some(&ReaderLagged(after)) = error.downcast_ref() {
            return Self::Lagged { after };
        }
        if let Some(invalid) = error.downcast_ref::<InvalidGzip>() {
            return Self::Decode {
                reason: invalid.to_string(),
            };
        }
        if let Some(&DeadlineExpired { deadline, after }) = error.downcast_ref() {
            return Self::Timeout { deadline, after };
        }
        Self::Transport(error)
    }

    /// Whether there was no connection to the server, or no answer in time.
    pub(super) fn is_connection_failure(&self) -> bool {
        matches!(
            self,
            Self::Connect(_) | Self::Transport(_) | Self::Timeout { .. }
        )
    }

    /// Whether the same request may succeed later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Api(status) => {
                status.is_too_many_requests()
                    || (status.code >= 500
                        && !status.is_store_read_error()
                        && status.code != StatusCode::NOT_IMPLEMENTED.as_u16())
            }
            kind => kind.is_connection_failure(),
        }
    }

    /// Whether the server may have applied the request.
    pub(super) fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::Transport(_) | Self::Timeout { .. } | Self::Decode { .. } => true,
            Self::Api(status) => {
                status.code == StatusCode::REQUEST_TIMEOUT.as_u16() || status.code >= 500
            }
            // The client sent nothing.
            Self::Connect(_)
            | Self::Fenced(_)
            | Self::NotDeclared(_)
            | Self::Invalid { .. }
            | Self::Config(_) => false,
            // These come of reading only.
            Self::Lagged { .. } | Self::NoProgress { .. } | Self::Undecodable(_) => false,
        }
    }

    pub(super) fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Connect(error) => Some(error),
            Self::Transport(error) | Self::Fenced(error) => Some(&**error),
            Self::NotDeclared(error) => Some(&**error),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api(status) => StatusText(status).fmt(f),
            Self::Connect(error) => error.fmt(f),
            Self::Transport(error) => write!(
                f,
                "the connection to the API server broke: {}",
                Chain(error.as_ref())
            ),
            &Self::Timeout { deadline, after } => DeadlineExpired { deadline, after }.fmt(f),
            &Self::Lagged { after } => ReaderLagged(after).fmt(f),
            Self::Fenced(error) => write!(f, "not sent: {error}"),
            Self::NotDeclared(error) => error.fmt(f),
            Self::Decode { reason } => write!(f, "the answer cannot be decoded: {reason}"),
            Self::NoProgress { reason } => write!(
                f,
                "the list does not end: {reason}: check the server of this kind, and proxies on the way"
            ),
            Self::Invalid { reason } => f.write_str(reason),
            Self::Undecodable(object) => fmt::Display::fmt(object, f),
            Self::Config(error) => error.fmt(f),
        }
    }
}

/// The reason in words, then the message. The reason is left out if the message contains it.
struct StatusText<'a>(&'a Status);

/// The text of an error shows at most this many bytes of a server's message, because logs and readiness checks show it.
const MAX_MESSAGE: usize = 4 * 1024;

impl fmt::Display for StatusText<'_> {
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
        let shown = status.message.floor_char_boundary(MAX_MESSAGE);
        f.write_str(&status.message[..shown])?;
        if shown < status.message.len() {
            let left_out = status.message.len() - shown;
            write!(f, "… ({left_out} more bytes)")?;
        }
        Ok(())
    }
}

/// `AlreadyExists` becomes `already exists`; without a reason, these are the words of the status code.
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
