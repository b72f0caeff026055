use std::time::Duration;

use super::backoff::FailureKind;
use crate::client::{Error, ErrorKind};

/// Why the reflector waits, and how long the server asked it to wait.
pub(super) struct Pause {
    pub(super) why: &'static str,
    pub(super) failure: FailureKind,
    pub(super) retry_after: Option<Duration>,
}

impl Pause {
    pub(super) fn new(why: &'static str, failure: FailureKind) -> Self {
        Self {
            why,
            failure,
            retry_after: None,
        }
    }

    /// The pause that follows from `error`.
    pub(super) fn after(error: &Error) -> Self {
        let failure = match error {
            _ if error.is_connection_failure() => FailureKind::Connection,
            _ if error.is_too_many_requests() => FailureKind::Throttled,
            _ if is_unavailable(error) => FailureKind::Expired,
            _ if error.is_forbidden()
                || error.is_unauthorized()
                || error.is_not_found()
                || error.is_method_not_allowed() =>
            {
                FailureKind::Refused
            }
            _ => FailureKind::Server,
        };
        let why = match failure {
            FailureKind::Connection if matches!(error.kind(), ErrorKind::Connect(_)) => "refused",
            FailureKind::Connection => "broken",
            FailureKind::Throttled => "throttled",
            FailureKind::Expired => "expired",
            FailureKind::Refused if error.is_not_found() => "failed",
            FailureKind::Refused => "forbidden",
            FailureKind::Server => "failed",
        };
        Self {
            why,
            failure,
            retry_after: error.retry_after(),
        }
    }
}

/// Whether the server does not have the requested resource version.
pub(super) fn is_unavailable(error: &Error) -> bool {
    error.is_expired() || error.is_too_large_resource_version()
}

/// Whether the resource version in the request may be the reason of the failure.
pub(super) fn is_refused_version(error: &Error) -> bool {
    error.is_bad_request()
        || error.is_invalid()
        || matches!(error.kind(), ErrorKind::Invalid { .. })
}
