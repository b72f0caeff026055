//! The errors that a server for tests answers with.

use crate::{
    client::{ConnectError, ConnectProblem, Error, ErrorKind},
    resource::{Status, StatusDetails},
};

/// An error that the server returns.
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

/// The connection broke.
pub(crate) fn broken() -> Error {
    Error::new(
        "watch",
        "configmaps",
        ErrorKind::Transport("connection reset".into()),
    )
}

/// The connection broke within an event.
pub(crate) fn half_a_frame() -> Error {
    Error::new(
        "watch",
        "configmaps",
        ErrorKind::Decode {
            reason: "the event is cut off".into(),
        },
    )
}

/// The server does not support watches that begin with the present state.
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

/// The connection was refused.
pub(crate) fn refused() -> Error {
    Error::new(
        "watch",
        "configmaps",
        ErrorKind::Connect(ConnectError::new("127.0.0.1", ConnectProblem::Refused)),
    )
}

/// The server asks the client to slow down for this many seconds.
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
