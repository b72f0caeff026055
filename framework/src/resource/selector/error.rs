use std::fmt;

/// Why a label or field selector is invalid: the API server would refuse it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError {
    /// The selector, or its invalid part.
    pub selector: String,
    /// What is wrong with it.
    pub problem: String,
}

impl SelectorError {
    pub(super) fn new(selector: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            selector: selector.into(),
            problem: problem.into(),
        }
    }
}

/// ``invalid selector `app in (a`: expected `,` or `)`, found the end``.
impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid selector `{}`: {}", self.selector, self.problem)
    }
}

impl std::error::Error for SelectorError {}
