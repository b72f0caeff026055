use std::time::Duration;

use crate::error::ApiError;

/// The response that a request gets instead of being carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    code: u16,
    reason: &'static str,
    message: String,
    retry_after: Option<Duration>,
}

impl Answer {
    /// A `Status` with this HTTP code and reason: `Answer::status(503, "ServiceUnavailable")`.
    pub fn status(code: u16, reason: &'static str) -> Self {
        Self {
            code,
            reason,
            message: format!("injected fault: {reason}"),
            retry_after: None,
        }
    }

    /// Sets the message. Default: `injected fault: ` and the reason.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds a `Retry-After` header and `details.retryAfterSeconds`, in whole seconds.
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    pub(crate) fn to_error(&self) -> ApiError {
        ApiError::new(self.code, self.reason, self.message.clone())
            .retry_after(self.retry_after.map(|after| after.as_secs()))
    }
}
