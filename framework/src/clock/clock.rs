use std::{fmt, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells the time of day. Clones are the same clock. The default is the [system's clock](Self::system).
#[derive(Clone, Default)]
pub struct Clock {
    /// `None`: the clock of the machine.
    source: Option<Arc<dyn Fn() -> Timestamp + Send + Sync>>,
}

impl Clock {
    /// The clock of the machine. It is read each time, so it shows a change of the machine's time at once.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock for tests. It shows `start` now, and then follows tokio's clock: a paused clock stops it.
    pub fn starting_at(start: Timestamp) -> Self {
        let began = Instant::now();
        Self::from_fn(move || {
            let elapsed = SignedDuration::try_from(began.elapsed()).unwrap_or(SignedDuration::MAX);
            start.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
        })
    }

    /// A clock that calls `now` each time. `now` must not block.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            source: Some(Arc::new(now)),
        }
    }

    /// The present time, as precise as the clock is.
    pub fn now(&self) -> Timestamp {
        self.source
            .as_ref()
            .map_or_else(Timestamp::now, |now| now())
    }

    /// The present time in whole seconds, as the API stores most times.
    pub(crate) fn now_in_seconds(&self) -> Timestamp {
        in_seconds(self.now())
    }
}

/// `time` without the fraction of its second.
pub(crate) fn in_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source {
            None => "Clock(system)",
            Some(_) => "Clock(own)",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicI64, Ordering},
        time::Duration,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_with_a_start_follows_the_paused_clock_and_the_system_clock_does_not() {
        let (clock, system) = (Clock::starting_at(Timestamp::UNIX_EPOCH), Clock::default());
        let real = Timestamp::now();
        tokio::time::advance(Duration::from_millis(86_400_500)).await;
        assert_eq!(clock.clone().now().as_millisecond(), 86_400_500);
        assert_eq!(clock.now_in_seconds().as_millisecond(), 86_400_000);
        let hour = SignedDuration::from_hours(1);
        assert!(system.now() >= real - hour && system.now() < real + hour);
    }

    #[test]
    fn a_clock_that_jumps_back_shows_the_earlier_time() {
        let second = Arc::new(AtomicI64::new(1000));
        let shown = second.clone();
        let clock = Clock::from_fn(move || {
            Timestamp::from_second(shown.load(Ordering::Relaxed)).unwrap_or_default()
        });
        assert_eq!(clock.now().as_second(), 1000);
        second.store(10, Ordering::Relaxed);
        assert_eq!(clock.now().as_second(), 10);
    }
}
