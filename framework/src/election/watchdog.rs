use std::{
    fmt, io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{
    clock::{Clock, SystemClock},
    term::{Term, WatchdogStep},
};

/// The action for work that still runs although the lease can soon pass to another process.
#[derive(Clone)]
pub(super) struct OverdueAction(pub(super) Arc<dyn Fn() + Send + Sync>);

impl fmt::Debug for OverdueAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OverdueAction")
    }
}

/// Watches a term from its own thread, so that a blocked runtime cannot hide that the term is over.
pub(super) struct Watchdog {
    stop: Option<Box<dyn FnOnce() + Send + Sync>>,
}

/// The longest sleep between two checks: a sleeping thread does not notice that the machine was
/// suspended.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(500);

impl Watchdog {
    pub(super) fn start(term: Arc<Term>, overdue: OverdueAction) -> io::Result<Self> {
        let thread = thread::Builder::new().name("lease".into()).spawn(move || {
            loop {
                match term.watch() {
                    WatchdogStep::CheckAfter(time) => {
                        thread::park_timeout(time.min(CHECK_INTERVAL))
                    }
                    WatchdogStep::Overdue => return (overdue.0)(),
                    WatchdogStep::Ended => return,
                }
            }
        })?;
        Ok(Self::stopped_by(move || stop(thread)))
    }

    /// A watchdog that runs until `stop` is called.
    pub(super) fn stopped_by(stop: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self {
            stop: Some(Box::new(stop)),
        }
    }
}

/// Wakes the thread, which sees that the term has ended, and joins it.
fn stop(thread: JoinHandle<()>) {
    thread.thread().unpark();
    // The join is short: the thread only checks the term once more. If this runs on that thread, as part of its action,
    // it must not join itself.
    if thread.thread().id() != thread::current().id() {
        let _ = thread.join();
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop();
        }
    }
}

/// The clock of an election, and how the watchdog of a term waits on it.
#[derive(Clone)]
pub(crate) struct ElectionClock {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) start_watchdog: fn(Arc<Term>, OverdueAction) -> io::Result<Watchdog>,
}

impl ElectionClock {
    /// The system's clock, and a thread as watchdog.
    pub(super) fn system() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            start_watchdog: Watchdog::start,
        }
    }
}

impl fmt::Debug for ElectionClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElectionClock").finish_non_exhaustive()
    }
}
