use std::fmt;

/// What happens if a check does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValidationAction {
    /// The request is denied.
    Deny,
    /// The user sees a warning. It cannot be combined with [`Deny`](Self::Deny), whose message has the same text.
    Warn,
    /// The audit log notes it, in the annotation `validation.policy.admission.k8s.io/validation_failure`.
    Audit,
}

/// The name in Kubernetes.
impl fmt::Display for ValidationAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The reason of a denial, for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The object is not valid: code 422.
    #[default]
    Invalid,
    /// The user may not do it: code 403.
    Forbidden,
    /// The user is not known: code 401.
    Unauthorized,
    /// The object is too large: code 413.
    RequestEntityTooLarge,
}

/// The name in Kubernetes.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
