/// Why a label or field selector is invalid: the API server would refuse it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid selector `{selector}`: {problem}")]
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
