use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The pause between two lines.
const PAUSE: Duration = Duration::from_secs(60);

/// Counts the requests that are refused because their review failed, so that they are at most one line per minute,
/// however many requests a peer sends.
#[derive(Default)]
pub(super) struct Refusals(Mutex<Unlogged>);

#[derive(Default)]
struct Unlogged {
    /// The time of the last line.
    logged_at: Option<Instant>,
    /// The refusals since the last line.
    count: u64,
}

impl Refusals {
    /// Counts a refusal. Returns the number of refusals since the last line, with this one, if a line is due.
    pub(super) fn count(&self) -> Option<u64> {
        let now = Instant::now();
        let mut unlogged = self.0.lock();
        unlogged.count += 1;
        if unlogged.logged_at.is_some_and(|at| now < at + PAUSE) {
            return None;
        }
        unlogged.logged_at = Some(now);
        Some(std::mem::take(&mut unlogged.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_line_per_minute_has_the_number_of_refusals() {
        let refusals = Refusals::default();
        assert_eq!(refusals.count(), Some(1));
        for _ in 0..7247 {
            assert_eq!(refusals.count(), None);
        }
        tokio::time::advance(PAUSE).await;
        assert_eq!(refusals.count(), Some(7248));
        assert_eq!(refusals.count(), None);
    }
}
