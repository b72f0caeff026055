use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

/// Limits how often the calls of one key write, so that two programs that revert each other do not write as fast as the API
/// server answers.
///
/// A key may write in `burst` calls at once, and in one more call per `period`: a token bucket for each key. When its bucket
/// is empty, the key waits until the next token. Calls that write nothing take no token.
pub(crate) struct WriteLimit {
    burst: u32,
    /// In milliseconds. 0 means no limit.
    period: u32,
    epoch: Instant,
    /// When the last pause of any key ends, in milliseconds. While none lasts, no worker looks for one.
    last_pause: AtomicU64,
}

/// The bucket of one key, in 8 bytes.
#[derive(Debug, Default)]
pub(crate) struct WritePace {
    /// When the bucket is full again: the low 32 bits of the milliseconds. A time that is too far ahead is one of the past.
    full_at: u32,
    /// Whether the running call has taken a token.
    is_counted: bool,
    /// Whether the present pause has delayed a call.
    has_delayed: bool,
    /// Whether a write after a pause was reported since the bucket was full.
    is_reported: bool,
}

/// A call that has to wait because those before it wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WritePause {
    pub(crate) remaining: Duration,
    /// Whether this pause delayed no call before.
    pub(crate) is_new: bool,
}

impl WriteLimit {
    /// As [`Controller::write_limit`](crate::controller::Controller::write_limit).
    pub(crate) fn new((burst, period): (u32, Duration)) -> Self {
        let period = u32::try_from(period.as_millis()).unwrap_or(u32::MAX);
        let period = period.min(24 * 3600 * 1000);
        // So that no bucket takes more than 2^31 milliseconds to fill.
        let most = u32::MAX / 2 / period.max(1);
        Self {
            burst: burst.clamp(1, most),
            period,
            epoch: Instant::now(),
            last_pause: AtomicU64::new(0),
        }
    }

    pub(crate) fn burst(&self) -> u32 {
        self.burst
    }

    pub(crate) fn period(&self) -> Duration {
        Duration::from_millis(self.period.into())
    }

    /// The running call writes. Only its first write counts. Returns whether the write has to be reported: it is the first
    /// after a pause, and no other was reported since the bucket was full.
    pub(crate) fn note(&self, pace: &mut WritePace) -> bool {
        if std::mem::replace(&mut pace.is_counted, true) || self.period == 0 {
            return false;
        }
        let now = self.now();
        let missing = self.missing(pace, now);
        let was_paused = std::mem::take(&mut pace.has_delayed);
        pace.is_reported &= was_paused || missing > 0;
        let report = was_paused && !std::mem::replace(&mut pace.is_reported, true);
        let missing = missing + self.period;
        pace.full_at = (now as u32).wrapping_add(missing);
        let pause = missing.saturating_sub(self.one_token());
        if pause > 0 {
            let end = now + u64::from(pause);
            self.last_pause.fetch_max(end, Ordering::Relaxed);
        }
        report
    }

    /// Whether a key may have to wait.
    pub(crate) fn is_active(&self) -> bool {
        let end = self.last_pause.load(Ordering::Relaxed);
        end > 0 && end > self.now()
    }

    /// The pause that a call would have to wait for now.
    pub(crate) fn pause(&self, pace: &mut WritePace) -> Option<WritePause> {
        let missing = self.missing(pace, self.now());
        let remaining = missing.checked_sub(self.one_token())?;
        (remaining > 0).then(|| WritePause {
            remaining: Duration::from_millis(remaining.into()),
            is_new: !std::mem::replace(&mut pace.has_delayed, true),
        })
    }

    /// Whether the bucket is as one that was never used.
    pub(crate) fn is_full(&self, pace: &WritePace) -> bool {
        self.missing(pace, self.now()) == 0
    }

    /// In how many milliseconds the bucket is full.
    fn missing(&self, pace: &WritePace, now: u64) -> u32 {
        let ahead = pace.full_at.wrapping_sub(now as u32);
        match ahead <= self.burst * self.period {
            true => ahead,
            false => 0,
        }
    }

    /// How long a bucket with one token takes to become full.
    fn one_token(&self) -> u32 {
        (self.burst - 1) * self.period
    }

    fn now(&self) -> u64 {
        // Not 0: that is the end of the pauses of new buckets.
        self.epoch.elapsed().as_millis() as u64 + 1
    }
}

impl WritePace {
    /// A call begins.
    pub(crate) fn begin_call(&mut self) {
        self.is_counted = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// One call that writes `times` times, none of which is reported.
    fn call(limit: &WriteLimit, pace: &mut WritePace, times: usize) -> Option<WritePause> {
        pace.begin_call();
        assert!((0..times).all(|_| !limit.note(pace)));
        limit.pause(pace)
    }

    async fn pass(milliseconds: u32) {
        tokio::time::advance(MS * milliseconds).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_writes_in_a_burst_of_calls_and_then_in_one_per_period() {
        let (limit, mut pace) = (WriteLimit::new((3, 1000 * MS)), WritePace::default());
        let pace = &mut pace;
        assert_eq!([call(&limit, pace, 5), call(&limit, pace, 1)], [None, None]);
        assert!(!limit.is_active());
        let pause = |milliseconds, is_new| {
            let remaining = MS * milliseconds;
            Some(WritePause { remaining, is_new })
        };
        assert_eq!(call(&limit, pace, 1), pause(1000, true));
        pass(400).await;
        assert_eq!(limit.pause(pace), pause(600, false));
        assert!(limit.is_active());
        pass(600).await;
        assert_eq!((limit.pause(pace), limit.is_active()), (None, false));
        assert_eq!(
            call(&limit, pace, 0),
            None,
            "a call that writes nothing is free"
        );
        pace.begin_call();
        assert!(limit.note(pace), "the first write after a pause");
        assert_eq!(limit.pause(pace), pause(1000, true));
    }

    #[tokio::test(start_paused = true)]
    async fn writes_after_a_pause_are_reported_once_until_the_bucket_is_full() {
        for burst in [1, 3] {
            let limit = WriteLimit::new((burst, 1000 * MS));
            let pace = &mut WritePace::default();
            for round in 0..3 {
                for _ in 0..burst {
                    assert!(limit.pause(pace).is_none());
                    pace.begin_call();
                    assert!(!limit.note(pace), "{burst} {round}");
                }
                for reported in [true, false, false] {
                    let pause = limit.pause(pace).expect("no token is left");
                    tokio::time::advance(pause.remaining).await;
                    pace.begin_call();
                    assert_eq!(limit.note(pace), reported, "{burst} {round}");
                }
                // No call was delayed since, so the next write is no loop.
                pass(1000 * burst).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_did_not_write_for_long_has_a_full_bucket() {
        let limit = WriteLimit::new((2, 1000 * MS));
        for days in [0, 20, 25, 40, 50] {
            let mut pace = WritePace::default();
            assert_eq!(call(&limit, &mut pace, 1), None);
            tokio::time::advance(Duration::from_secs(days * 24 * 3600)).await;
            if days > 0 {
                assert_eq!(call(&limit, &mut pace, 1), None, "{days}");
            }
        }
        assert_eq!(size_of::<WritePace>(), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn a_period_of_zero_is_no_limit() {
        let (limit, mut pace) = (WriteLimit::new((0, Duration::ZERO)), WritePace::default());
        for _ in 0..1000 {
            assert_eq!(call(&limit, &mut pace, 1), None);
        }
        // Numbers without sense do not overflow.
        let limit = WriteLimit::new((u32::MAX, Duration::MAX));
        assert_eq!(call(&limit, &mut pace, 1), None);
    }
}
