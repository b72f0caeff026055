use std::time::Duration;

/// How a failed key goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often the key failed in a row, this time included.
    pub attempt: u32,
    /// How long the key waits before its next run.
    pub delay: Duration,
}
