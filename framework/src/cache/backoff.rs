use std::time::Duration;

use super::random::Random;

/// How long a reflector waits after a failure: 800 ms, doubled with each failure up to 30 s, and
/// each time up to as much again at random (client-go's values).
///
/// Only success that held for a while starts it over: a server that accepts a watch and breaks
/// it at once does not. client-go starts over every two minutes instead, failing or not.
#[derive(Debug)]
pub(super) struct Backoff {
    failures: u32,
    random: Random,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(800);
    const LONGEST: Duration = Duration::from_secs(30);
    /// Success that held so long starts the backoff over.
    const HELD: Duration = Duration::from_secs(30);

    pub(super) fn new() -> Self {
        Self {
            failures: 0,
            random: Random::new(),
        }
    }

    /// The delay after one more failure; not less than what the server asked for.
    pub(super) fn next(&mut self, retry_after: Option<Duration>) -> Duration {
        let factor = 2u32.saturating_pow(self.failures);
        let delay = Self::FIRST.saturating_mul(factor).min(Self::LONGEST);
        self.failures = self.failures.saturating_add(1);
        let delay = self.random.duration(delay..delay * 2);
        delay.max(retry_after.unwrap_or_default())
    }

    /// What was tried has worked for `time`.
    pub(super) fn held(&mut self, time: Duration) {
        if time >= Self::HELD {
            self.failures = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_their_longest_with_jitter_on_top() {
        let mut backoff = Backoff::new();
        for expected in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0] {
            let delay = backoff.next(None).as_secs_f64();
            assert!((expected..expected * 2.0).contains(&delay), "{delay}");
        }
    }

    #[test]
    fn only_success_that_held_starts_it_over() {
        let mut backoff = Backoff::new();
        backoff.next(None);
        backoff.held(Duration::from_secs(29));
        assert!(backoff.next(None) >= Duration::from_millis(1600));
        backoff.held(Duration::from_secs(30));
        assert!(backoff.next(None) < Duration::from_millis(1600));
    }

    #[test]
    fn what_the_server_asks_for_is_the_least() {
        let minute = Duration::from_secs(60);
        assert_eq!(Backoff::new().next(Some(minute)), minute);
    }
}
