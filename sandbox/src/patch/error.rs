/// A patch that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The patch itself is wrong (400 `BadRequest`).
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the object (422).
    #[error("{0}")]
    Unprocessable(String),
    /// There are too many operations (413 `RequestEntityTooLarge`).
    #[error("{0}")]
    TooLarge(String),
    /// A list cannot be merged (500).
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// The HTTP status of the response.
    pub fn code(&self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::Unprocessable(_) => 422,
            Self::TooLarge(_) => 413,
            Self::Internal(_) => 500,
        }
    }
}
