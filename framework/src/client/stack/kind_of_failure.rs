use super::TimedOut;
use crate::client::{BoxError, ConfigError, ConnectError};

/// One of few words for why there was no answer.
pub(super) fn kind_of_failure(error: &BoxError) -> &'static str {
    if error.is::<TimedOut>() {
        "timeout"
    } else if error.is::<ConnectError>() {
        "connect"
    } else if error.is::<ConfigError>() {
        "config"
    } else {
        "transport"
    }
}
