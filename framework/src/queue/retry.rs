use std::time::Duration;

/// What became of a key that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often it failed in a row, this time included.
    pub attempt: u32,
    /// How long it waits.
    pub delay: Duration,
}
