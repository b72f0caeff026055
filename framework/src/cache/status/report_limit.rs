use std::time::Duration;

use tokio::time::Instant;

/// Limits reports about single objects: 25 at once, and then one every 10 s. A tenant or a server can make any number of such
/// objects, for example objects that do not decode.
#[derive(Debug)]
pub(crate) struct ReportLimit {
    /// When all of the 25 are available again.
    full_at: Instant,
    unreported: u64,
}

impl ReportLimit {
    const BURST: u32 = 25;
    const REFILL: Duration = Duration::from_secs(10);

    pub(crate) fn new(now: Instant) -> Self {
        Self {
            full_at: now,
            unreported: 0,
        }
    }

    /// Returns how many were not reported since the last report, or `None` if this one must not be reported either.
    pub(crate) fn take(&mut self, now: Instant) -> Option<u64> {
        let full_at = self.full_at.max(now) + Self::REFILL;
        if full_at > now + Self::REFILL * Self::BURST {
            self.unreported += 1;
            return None;
        }
        self.full_at = full_at;
        Some(std::mem::take(&mut self.unreported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_limited_to_25_at_once_and_one_every_10_s_and_the_others_are_counted() {
        let start = Instant::now();
        let mut limit = ReportLimit::new(start);
        let mut at = |seconds| limit.take(start + Duration::from_secs(seconds));
        let reported = (0..337).filter(|_| at(0) == Some(0)).count();
        assert_eq!(reported, 25);
        assert_eq!(at(9), None);
        assert_eq!(at(10), Some(313));
        assert_eq!(at(11), None);
        let later = (0..100).filter(|_| at(1000).is_some()).count();
        assert_eq!(later, 25);
    }
}
