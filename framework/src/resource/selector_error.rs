use std::fmt;

/// A selector that the API server would refuse: where, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError {
    /// The selector, or the part of it that is wrong.
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

/// ``the selector `app in (a`: expected `)` at its end``.
impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the selector `{}`: {}", self.selector, self.problem)
    }
}

impl std::error::Error for SelectorError {}
