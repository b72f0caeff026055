use crate::client::{BoxError, ConfigError, ConnectError, error::DeadlineExpired};

/// The reason for a failure, as one of few words.
pub(super) fn failure_kind(error: &BoxError) -> &'static str {
    if error.is::<DeadlineExpired>() {
        "timeout"
    } else if error.is::<ConnectError>() {
        "connect"
    } else if error.is::<ConfigError>() {
        "config"
    } else {
        "transport"
    }
}
