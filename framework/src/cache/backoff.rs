use std::time::Duration;

use super::random::Random;

/// How long a reflector waits after a failure: 800 ms, doubled with each failure of the same
/// [class](Failure) up to 30 s, and each time up to as much again at random (client-go's values).
///
/// Only success that held for a while starts it over: a server that accepts a watch and breaks
/// it at once does not. client-go starts over every two minutes instead, failing or not, and has one
/// backoff for whatever fails.
#[derive(Debug)]
pub(super) struct Backoff {
    failures: [u32; Failure::COUNT],
    random: Random,
}

/// What kinds of failure there are; a series of one kind does not lengthen the waits of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// There is no connection: refused, broken, no answer.
    Connection,
    /// The server asks to slow down.
    Throttled,
    /// The server no longer has the version asked for.
    Expired,
    /// The server fails, or what it sends makes no sense.
    Server,
    /// The request is not allowed, or there is nothing to ask for.
    Refused,
}

impl Failure {
    const COUNT: usize = 5;
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(800);
    const LONGEST: Duration = Duration::from_secs(30);
    /// Success that held so long starts the backoff over.
    const HELD: Duration = Duration::from_secs(30);

    pub(super) fn new() -> Self {
        Self {
            failures: [0; Failure::COUNT],
            random: Random::new(),
        }
    }

    /// The delay after one more failure; not less than what the server asked for.
    pub(super) fn next(&mut self, failure: Failure, retry_after: Option<Duration>) -> Duration {
        let [connection, throttled, expired, server, refused] = &mut self.failures;
        let failures = match failure {
            Failure::Connection => connection,
            Failure::Throttled => throttled,
            Failure::Expired => expired,
            Failure::Server => server,
            Failure::Refused => refused,
        };
        let factor = 2u32.saturating_pow(*failures);
        *failures = failures.saturating_add(1);
        let delay = Self::FIRST.saturating_mul(factor).min(Self::LONGEST);
        let delay = self.random.duration(delay..delay * 2);
        delay.max(retry_after.unwrap_or_default())
    }

    /// What was tried has worked for `time`; answers whether that starts it over.
    pub(super) fn held(&mut self, time: Duration) -> bool {
        let is_enough = time >= Self::HELD;
        if is_enough {
            self.failures = [0; Failure::COUNT];
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_their_longest_with_jitter_on_top() {
        let mut backoff = Backoff::new();
        for expected in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0] {
            let delay = backoff.next(Failure::Server, None).as_secs_f64();
            assert!((expected..expected * 2.0).contains(&delay), "{delay}");
        }
    }

    #[test]
    fn only_success_that_held_starts_it_over() {
        let mut backoff = Backoff::new();
        let second = Duration::from_millis(1600);
        backoff.next(Failure::Connection, None);
        backoff.held(Duration::from_secs(29));
        assert!(backoff.next(Failure::Connection, None) >= second);
        backoff.held(Duration::from_secs(30));
        assert!(backoff.next(Failure::Connection, None) < second);
    }

    #[test]
    fn a_series_of_one_kind_does_not_lengthen_the_waits_of_another() {
        let mut backoff = Backoff::new();
        let kinds = [
            Failure::Connection,
            Failure::Throttled,
            Failure::Expired,
            Failure::Server,
            Failure::Refused,
        ];
        for kind in kinds {
            let first = backoff.next(kind, None);
            assert!(first < Duration::from_millis(1600), "{kind:?}: {first:?}");
            (0..8).for_each(|_| _ = backoff.next(kind, None));
        }
        for kind in kinds {
            assert!(backoff.next(kind, None) >= Backoff::LONGEST);
        }
    }

    #[test]
    fn what_the_server_asks_for_is_the_least() {
        let minute = Duration::from_secs(60);
        let delay = Backoff::new().next(Failure::Throttled, Some(minute));
        assert_eq!(delay, minute);
    }
}
