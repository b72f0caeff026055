use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::clock::Clock;

/// One time of leading, from the moment it was won to the moment the work ended.
///
/// It holds as long as the last renewal that succeeded was sent less than the renew deadline ago.
/// Whoever sees first that this is over ends it for all, for good: a renewal that comes late brings
/// nothing back.
pub(super) struct Term {
    clock: Arc<dyn Clock>,
    renew_deadline: Duration,
    /// From the sending of a renewal to the time by which no work may run any more.
    work_deadline: Duration,
    state: Mutex<State>,
    lost: CancellationToken,
}

#[derive(Debug)]
struct State {
    /// When the last renewal that succeeded was sent.
    renewed: Duration,
    over: bool,
    /// When somebody else was seen to hold the lease.
    stolen: Option<Duration>,
    /// No work runs any more: nothing has to be watched.
    ended: bool,
}

/// What somebody who watches a term has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watched {
    /// Look again after this.
    Later(Duration),
    /// Work runs although the lease can pass to another soon.
    Overdue,
    /// Nothing more: the work ended.
    Ended,
}

impl Term {
    /// A term that was won by a request sent at `sent`.
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
        let mut state = self.lock();
        if !state.over && self.clock.now() < state.renewed + self.renew_deadline {
            return true;
        }
        state.over = true;
        drop(state);
        self.lost.cancel();
        false
    }

    /// A renewal that was sent at `sent` succeeded. `false` if the term is over all the same.
    pub(super) fn renewed(&self, sent: Duration) -> bool {
        if !self.holds() {
            return false;
        }
        let mut state = self.lock();
        if !state.over {
            state.renewed = state.renewed.max(sent);
        }
        !state.over
    }

    /// Somebody else holds the lease.
    pub(super) fn lose(&self) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.over = true;
        state.stolen.get_or_insert(now);
        drop(state);
        self.lost.cancel();
    }

    /// No work runs any more.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.over = true;
        state.ended = true;
        drop(state);
        self.lost.cancel();
    }

    /// Cancelled when the term is over.
    pub(super) fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Ends the term if its time has come, and says what is to be done.
    pub(super) fn watch(&self) -> Watched {
        let holds = self.holds();
        let now = self.clock.now();
        let state = self.lock();
        if state.ended {
            return Watched::Ended;
        }
        let due = match (holds, state.stolen) {
            (true, _) => state.renewed + self.renew_deadline,
            (false, None) => state.renewed + self.work_deadline,
            // The other may work already: what is left is the time that work always gets to end.
            (false, Some(stolen)) => {
                let time = self.work_deadline.saturating_sub(self.renew_deadline);
                (stolen + time).min(state.renewed + self.work_deadline)
            }
        };
        match due.checked_sub(now) {
            Some(left) if !left.is_zero() => Watched::Later(left),
            // Between the two looks at the clock the term ran out.
            _ if holds => Watched::Later(Duration::ZERO),
            _ => Watched::Overdue,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn it_holds_for_the_renew_deadline_from_when_the_renewal_was_sent() {
        let (clock, term) = term();
        let at = |second| clock.0.store(second, Ordering::SeqCst);
        at(109);
        assert!(term.holds());
        assert!(term.renewed(Duration::from_secs(104)));
        at(113);
        assert!(term.holds());
        // An answer to what was sent earlier takes nothing away.
        assert!(term.renewed(Duration::from_secs(101)));
        assert!(term.holds());
        at(114);
        assert!(!term.holds());
        assert!(term.lost().is_cancelled());
    }

    #[test]
    fn what_is_over_stays_over() {
        let (clock, term) = term();
        clock.0.store(110, Ordering::SeqCst);
        // Nobody had looked; the answer to a renewal that was sent in time comes too late.
        assert!(!term.renewed(Duration::from_secs(109)));
        assert!(!term.holds());
        clock.0.store(105, Ordering::SeqCst);
        assert!(!term.holds());
    }

    #[test]
    fn a_watch_ends_the_term_and_tells_of_work_that_outlives_it() {
        let (clock, term) = term();
        let at = |second| clock.0.store(second, Ordering::SeqCst);
        assert_eq!(term.watch(), Watched::Later(Duration::from_secs(10)));
        at(111);
        assert_eq!(term.watch(), Watched::Later(Duration::from_secs(2)));
        assert!(term.lost().is_cancelled());
        at(113);
        assert_eq!(term.watch(), Watched::Overdue);
        term.end();
        assert_eq!(term.watch(), Watched::Ended);
    }

    #[test]
    fn a_stolen_lease_ends_the_term_at_once() {
        let (_, term) = term();
        term.lose();
        assert!(!term.holds());
        assert_eq!(term.watch(), Watched::Later(Duration::from_secs(3)));
    }
}
