use crate::{
    client,
    resource::{FieldError, Status, StatusCause, StatusDetails},
};

/// Why a request is denied. The user sees the message after the name of the webhook:
/// `admission webhook "validate.websites.demo.example.com" denied the request: …`.
///
/// ```
/// use pilothouse::webhook::Denied;
///
/// let forbidden = Denied::new("only the team `web` may create a site");
/// let invalid = Denied::invalid("spec.replicas", "must be odd").and("spec.html", "must not be empty");
/// assert_eq!(invalid.to_string(), "spec.replicas: must be odd; spec.html: must not be empty");
/// # let _ = forbidden;
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{status}")]
pub struct Denied {
    pub(super) status: Box<Status>,
}

impl Denied {
    /// A request that is not allowed: code 403, reason `Forbidden`.
    pub fn new(message: impl Into<String>) -> Self {
        Self::with(403, "Forbidden", message)
    }

    /// An object that is not valid: code 422, reason `Invalid`, with a cause for a field such as `spec.replicas`.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::with(422, "Invalid", "").and(field, problem)
    }

    /// A denial with an HTTP status code from 400 to 599 and a reason for programs, such as `TooManyRequests`. A code out of that
    /// range becomes 400, as in the API server.
    pub fn with(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        let code = if (400..600).contains(&code) {
            code
        } else {
            400
        };
        let status = Status {
            reason: reason.into(),
            ..Status::from_code(code, message)
        };
        Self {
            status: Box::new(status),
        }
    }

    /// Adds the cause for a field. The message gets its text, too.
    #[must_use]
    pub fn and(mut self, field: impl Into<String>, problem: impl Into<String>) -> Self {
        let (field, problem) = (field.into(), problem.into());
        let message = &mut self.status.message;
        if !message.is_empty() {
            message.push_str("; ");
        }
        message.push_str(&format!("{field}: {problem}"));
        let details = self.status.details.get_or_insert_default();
        details.causes.push(StatusCause {
            reason: "FieldValueInvalid".into(),
            message: problem,
            field,
        });
        self
    }

    /// Names the object in the details, unless they name one.
    pub(super) fn about(&mut self, details: StatusDetails) {
        let own = self.status.details.get_or_insert_default();
        if own.name.is_empty() && own.kind.is_empty() {
            *own = StatusDetails {
                causes: std::mem::take(&mut own.causes),
                retry_after_seconds: own.retry_after_seconds,
                ..details
            };
        }
    }

    /// The HTTP status code.
    pub fn code(&self) -> u16 {
        self.status.code
    }

    /// The status that the API server gets.
    pub fn status(&self) -> &Status {
        &self.status
    }
}

/// The status of an API server, as it is.
impl From<Status> for Denied {
    fn from(status: Status) -> Self {
        Self {
            status: Box::new(status),
        }
    }
}

/// A request of the webhook failed, so it cannot decide: code 500, reason `InternalError`.
impl From<client::Error> for Denied {
    fn from(error: client::Error) -> Self {
        let message = format!("the webhook cannot decide: {error}");
        Self::with(500, "InternalError", message)
    }
}

/// A field does not fit the type that it was read as: code 422, reason `Invalid`.
impl From<FieldError> for Denied {
    fn from(error: FieldError) -> Self {
        Self::invalid(error.path, error.reason)
    }
}
