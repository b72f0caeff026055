use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::clock::Clock;

/// One term of leadership, from winning the Lease to the end of the work.
///
/// It holds as long as the last successful renewal was sent less than the renew deadline ago. The
/// first caller that finds it over ends it for all callers, for good: a late renewal does not bring
/// it back.
pub(super) struct Term {
    clock: Arc<dyn Clock>,
    renew_deadline: Duration,
    /// From the sending of a renewal to the time by which all work must have ended.
    work_deadline: Duration,
    state: Mutex<State>,
    lost: CancellationToken,
}

#[derive(Debug)]
struct State {
    /// When the last renewal that succeeded was sent.
    renewed: Duration,
    over: bool,
    /// When this process saw that another process holds the Lease.
    stolen: Option<Duration>,
    /// All work has ended, so the watchdog can stop.
    ended: bool,
}

/// The next step of the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchdogStep {
    /// Check again after this time.
    CheckAfter(Duration),
    /// Work still runs although the lease can soon pass to another process.
    Overdue,
    /// Stop: the work has ended.
    Ended,
}

impl Term {
    /// Starts a term that was won by a request sent at `sent`.
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        sent: Duration,
        renew_deadline: Duration,
        work_deadline: Duration,
    ) -> Self {
        Self {
            clock,
            renew_deadline,
            work_deadline,
            state: Mutex::new(State {
                renewed: sent,
                over: false,
                stolen: None,
                ended: false,
            }),
            lost: CancellationToken::new(),
        }
    }

    /// Whether this process leads now.
    pub(super) fn holds(&self) -> bool {
        let mut state = self.state.lock();
        if !state.over && self.clock.now() < state.renewed + self.renew_deadline {
            return true;
        }
        state.over = true;
        drop(state);
        self.lost.cancel();
        false
    }

    /// Records a successful renewal that was sent at `sent`. Returns `false` if the term is over
    /// nevertheless.
    pub(super) fn renewed(&self, sent: Duration) -> bool {
        if !self.holds() {
            return false;
        }
        let mut state = self.state.lock();
        if !state.over {
            state.renewed = state.renewed.max(sent);
        }
        !state.over
    }

    /// Ends the term because another process holds the Lease.
    pub(super) fn lose(&self) {
        let now = self.clock.now();
        let mut state = self.state.lock();
        state.over = true;
        state.stolen.get_or_insert(now);
        drop(state);
        self.lost.cancel();
    }

    /// Records that all work has ended.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        state.over = true;
        state.ended = true;
        drop(state);
        self.lost.cancel();
    }

    /// A token that is cancelled when the term is over.
    pub(super) fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Ends the term if its time is up. Returns the next step of the watchdog.
    pub(super) fn watch(&self) -> WatchdogStep {
        let holds = self.holds();
        let now = self.clock.now();
        let state = self.state.lock();
        if state.ended {
            return WatchdogStep::Ended;
        }
        let due = match (holds, state.stolen) {
            (true, _) => state.renewed + self.renew_deadline,
            (false, None) => state.renewed + self.work_deadline,
            // The other process may work already. This one keeps the time that work always gets to end.
            (false, Some(stolen)) => {
                let time = self.work_deadline.saturating_sub(self.renew_deadline);
                (stolen + time).min(state.renewed + self.work_deadline)
            }
        };
        match due.checked_sub(now) {
            Some(left) if !left.is_zero() => WatchdogStep::CheckAfter(left),
            // The term ran out between the two readings of the clock.
            _ if holds => WatchdogStep::CheckAfter(Duration::ZERO),
            _ => WatchdogStep::Overdue,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Seconds(AtomicU64);

    impl Clock for Seconds {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.load(Ordering::SeqCst))
        }
    }

    fn term() -> (Arc<Seconds>, Term) {
        let clock = Arc::new(Seconds::default());
        let seconds = Duration::from_secs;
        clock.0.store(100, Ordering::SeqCst);
        let term = Term::new(clock.clone(), seconds(100), seconds(10), seconds(13));
        (clock, term)
    }

    #[test]
    fn a_term_holds_for_the_renew_deadline_from_the_sending_of_the_renewal() {
        let (clock, term) = term();
        let at = |second| clock.0.store(second, Ordering::SeqCst);
        at(109);
        assert!(term.holds());
        assert!(term.renewed(Duration::from_secs(104)));
        at(113);
        assert!(term.holds());
        // The response to an earlier renewal shortens nothing.
        assert!(term.renewed(Duration::from_secs(101)));
        assert!(term.holds());
        at(114);
        assert!(!term.holds());
        assert!(term.lost().is_cancelled());
    }

    #[test]
    fn a_term_that_is_over_stays_over() {
        let (clock, term) = term();
        clock.0.store(110, Ordering::SeqCst);
        // No check has happened yet. The response to a renewal that was sent in time comes too late.
        assert!(!term.renewed(Duration::from_secs(109)));
        assert!(!term.holds());
        clock.0.store(105, Ordering::SeqCst);
        assert!(!term.holds());
    }

    #[test]
    fn a_check_ends_the_term_and_reports_work_that_outlives_it() {
        let (clock, term) = term();
        let at = |second| clock.0.store(second, Ordering::SeqCst);
        assert_eq!(
            term.watch(),
            WatchdogStep::CheckAfter(Duration::from_secs(10))
        );
        at(111);
        assert_eq!(
            term.watch(),
            WatchdogStep::CheckAfter(Duration::from_secs(2))
        );
        assert!(term.lost().is_cancelled());
        at(113);
        assert_eq!(term.watch(), WatchdogStep::Overdue);
        term.end();
        assert_eq!(term.watch(), WatchdogStep::Ended);
    }

    /// Each look at it takes two seconds.
    struct Slow(AtomicU64);

    impl Clock for Slow {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.fetch_add(2, Ordering::SeqCst))
        }
    }

    #[test]
    fn a_term_that_runs_out_while_it_is_watched_is_not_overdue() {
        let seconds = Duration::from_secs;
        let clock = Arc::new(Slow(AtomicU64::new(109)));
        let term = Term::new(clock, seconds(100), seconds(10), seconds(13));
        assert_eq!(term.watch(), WatchdogStep::CheckAfter(Duration::ZERO));
    }

    #[test]
    fn a_stolen_lease_ends_the_term_at_once() {
        let (_, term) = term();
        term.lose();
        assert!(!term.holds());
        assert_eq!(
            term.watch(),
            WatchdogStep::CheckAfter(Duration::from_secs(3))
        );
    }
}
