//! Errors that a server for tests answers with.

use crate::{
    client::{ConnectError, ConnectProblem, Error},
    resource::{Status, StatusDetails},
};

/// An error that the server answers.
pub(crate) fn status(code: u16, reason: &str, message: &str) -> Error {
    let status = Status {
        reason: reason.into(),
        ..Status::from_code(code, message)
    };
    Error::api("do", "configmaps", status)
}

pub(crate) fn expired() -> Error {
    status(410, "Expired", "too old resource version")
}

/// A connection that broke.
pub(crate) fn broken() -> Error {
    Error::Transport {
        verb: "watch",
        target: "configmaps".into(),
        source: "connection reset".into(),
    }
}

/// A connection that broke within an event.
pub(crate) fn half_a_frame() -> Error {
    Error::Decode {
        verb: "watch",
        target: "configmaps".into(),
        reason: "the event is cut off".into(),
    }
}

/// A server that does not know watches that begin with the present state.
pub(crate) fn unsupported() -> Error {
    status(
        422,
        "Invalid",
        "sendInitialEvents: Forbidden: it is forbidden for watch",
    )
}

pub(crate) fn forbidden() -> Error {
    status(403, "Forbidden", "configmaps is forbidden: no role")
}

/// Nobody listens.
pub(crate) fn refused() -> Error {
    Error::Connect {
        verb: "watch",
        target: "configmaps".into(),
        source: ConnectError::new("127.0.0.1", ConnectProblem::Refused),
    }
}

/// The server asks to slow down, and for how long.
pub(crate) fn throttled(seconds: u32) -> Error {
    let mut status = Status {
        reason: "TooManyRequests".into(),
        ..Status::from_code(429, "slow down")
    };
    status.details = Some(StatusDetails {
        retry_after_seconds: seconds,
        ..StatusDetails::default()
    });
    Error::api("do", "configmaps", status)
}
