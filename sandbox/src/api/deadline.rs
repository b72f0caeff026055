use std::time::Duration;

use tokio::time::Instant;

use crate::error::ApiError;

/// The longest time of a write, as of a real server.
const LIMIT: Duration = Duration::from_secs(34);

/// The end of a write's attempts. A write that is overtaken is tried again, and a webhook that changes the object itself overtakes it each time.
pub(super) struct Deadline(Instant);

impl Deadline {
    pub(super) fn new() -> Self {
        Self(Instant::now() + LIMIT)
    }

    /// # Errors
    /// 504 after the limit.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        match Instant::now() < self.0 {
            true => Ok(()),
            false => Err(ApiError::new(
                504,
                "Timeout",
                "Timeout: request did not complete within requested timeout - context deadline exceeded",
            )),
        }
    }
}
