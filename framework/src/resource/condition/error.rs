/// Why a condition was not set: the API server would refuse the whole status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// The type is no qualified name.
    #[error(
        "condition {kind:?}: the type must be a word of letters, digits, `-`, `_` and `.`, such as `Ready` or `example.com/Ready`, of at most 316 characters"
    )]
    Type {
        /// The type.
        kind: String,
    },
    /// The reason is no word.
    #[error(
        "condition {kind}: the reason {reason:?} must be one word, such as `PodsReady`: a letter, then letters, digits, `_`, `,` and `:`; sentences belong in the message"
    )]
    Reason {
        /// The condition's type.
        kind: String,
        /// The reason.
        reason: String,
    },
    /// The message is too long.
    #[error("condition {kind}: the message is longer than 32768 characters: shorten it")]
    Message {
        /// The condition's type.
        kind: String,
    },
}
