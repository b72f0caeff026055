use std::time::Duration;

use crate::backoff::{self, Growth};

/// How long a reflector waits after a failure: 800 ms, doubled with each failure of the same [kind](FailureKind) up
/// to 30 s, plus up to the same again at random (client-go's values).
///
/// Only requests that worked for a while reset it: a server that accepts a watch and breaks it at once does not.
/// client-go resets it every two minutes, whether requests fail or not, and has one backoff for all failures.
#[derive(Debug)]
pub(super) struct Backoff {
    by_kind: [backoff::Backoff; FailureKind::COUNT],
}

/// The kinds of failures. Failures of one kind do not lengthen the pauses of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cache) enum FailureKind {
    /// There is no connection: it was refused, it broke, or nothing arrived.
    Connection,
    /// The server asks the client to slow down.
    Throttled,
    /// The server no longer has the requested resource version.
    Expired,
    /// The server failed, or its answer makes no sense.
    Server,
    /// The request is forbidden, or the server does not serve the kind.
    Refused,
}

impl FailureKind {
    const COUNT: usize = 5;
}

impl Backoff {
    const PAUSES: Growth =
        Growth::doubling(Duration::from_millis(800), Duration::from_secs(30)).jitter(1.0);
    /// Requests that worked for this long reset the backoff.
    const MIN_SUCCESS: Duration = Duration::from_secs(30);

    pub(super) fn new() -> Self {
        Self {
            by_kind: std::array::from_fn(|_| {
                backoff::Backoff::new(Self::PAUSES, Self::MIN_SUCCESS)
            }),
        }
    }

    /// The pause after one more failure, and at least what the server asked for.
    pub(super) fn next(&mut self, failure: FailureKind, retry_after: Option<Duration>) -> Duration {
        let [connection, throttled, expired, server, refused] = &mut self.by_kind;
        let backoff = match failure {
            FailureKind::Connection => connection,
            FailureKind::Throttled => throttled,
            FailureKind::Expired => expired,
            FailureKind::Server => server,
            FailureKind::Refused => refused,
        };
        backoff.next().max(retry_after.unwrap_or_default())
    }

    /// Reports that requests worked for `time`. Returns whether that resets the backoff.
    pub(super) fn worked_for(&mut self, time: Duration) -> bool {
        // Each of them has the same rule.
        self.by_kind.each_mut().map(|one| one.worked_for(time))[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum_plus_jitter() {
        let mut backoff = Backoff::new();
        for expected in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0] {
            let delay = backoff.next(FailureKind::Server, None).as_secs_f64();
            assert!((expected..expected * 2.0).contains(&delay), "{delay}");
        }
    }

    #[test]
    fn only_lasting_success_resets_the_backoff() {
        let mut backoff = Backoff::new();
        let second = Duration::from_millis(1600);
        backoff.next(FailureKind::Connection, None);
        backoff.worked_for(Duration::from_secs(29));
        assert!(backoff.next(FailureKind::Connection, None) >= second);
        backoff.worked_for(Duration::from_secs(30));
        assert!(backoff.next(FailureKind::Connection, None) < second);
    }

    #[test]
    fn failures_of_one_kind_do_not_lengthen_the_pauses_of_another() {
        let mut backoff = Backoff::new();
        let kinds = [
            FailureKind::Connection,
            FailureKind::Throttled,
            FailureKind::Expired,
            FailureKind::Server,
            FailureKind::Refused,
        ];
        for kind in kinds {
            let first = backoff.next(kind, None);
            assert!(first < Duration::from_millis(1600), "{kind:?}: {first:?}");
            (0..8).for_each(|_| _ = backoff.next(kind, None));
        }
        for kind in kinds {
            assert!(backoff.next(kind, None) >= Backoff::PAUSES.longest);
        }
    }

    #[test]
    fn the_pause_is_at_least_what_the_server_asks_for() {
        let minute = Duration::from_secs(60);
        let delay = Backoff::new().next(FailureKind::Throttled, Some(minute));
        assert_eq!(delay, minute);
    }
}
