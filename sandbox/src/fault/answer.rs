use std::time::Duration;

use crate::error::{ApiError, Cause};
use crate::record::RecordedRequest;
use crate::registry::GroupResource;

/// The response that a request gets instead of being carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    code: u16,
    reason: &'static str,
    message: String,
    retry_after: Option<Duration>,
}

impl Answer {
    /// A `Status` with this HTTP code and reason: `Answer::status(503, "ServiceUnavailable")`. With the reasons of a
    /// real server it names the object in its details where a real server does, such as for `Conflict`.
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

    /// The failure of a request, with the details that a real server adds for this reason: the object, or the cause.
    pub(crate) fn to_error(&self, request: &RecordedRequest) -> ApiError {
        let error = ApiError::new(self.code, self.reason, self.message.clone())
            .retry_after(self.retry_after.map(|after| after.as_secs()));
        match self.reason {
            // Not for `NotFound`: it may be the kind that is missing, and then a real server names no object.
            "AlreadyExists" | "Conflict" | "Forbidden" if !request.resource.is_empty() => {
                let resource = GroupResource::new(&request.group, &request.resource);
                error.about(&resource, &request.name)
            }
            "InternalError" => error.because(vec![Cause {
                reason: String::new(),
                message: self.message.clone(),
                field: String::new(),
            }]),
            _ => error,
        }
    }
}
