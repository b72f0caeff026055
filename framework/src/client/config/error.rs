/// Why a configuration is invalid: what is wrong, where, and what to do.
///
/// The text is one line. It never holds a token, a password or a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ConfigError {
    text: String,
}

impl ConfigError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}
