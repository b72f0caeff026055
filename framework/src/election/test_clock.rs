//! Elections on tokio's clock, which a test can pause.

use std::{io, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    ElectionSettings,
    clock::Clock,
    term::{Term, WatchdogStep},
    watchdog::{CHECK_INTERVAL, ElectionClock, OverdueAction, Watchdog},
};

struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

impl ElectionSettings {
    /// Elects on tokio's clock, with a task as watchdog.
    #[must_use]
    pub(crate) fn on_tokio_clock(mut self) -> Self {
        // Not zero, as a system's clock is not zero either.
        let start = Instant::now() - Duration::from_secs(1000);
        self.clock = ElectionClock {
            clock: Arc::new(TokioClock(start)),
            start_watchdog,
        };
        self
    }
}

fn start_watchdog(term: Arc<Term>, overdue: OverdueAction) -> io::Result<Watchdog> {
    let task = tokio::spawn(async move {
        loop {
            match term.watch() {
                WatchdogStep::CheckAfter(time) => {
                    let time = time.clamp(Duration::from_millis(1), CHECK_INTERVAL);
                    tokio::time::sleep(time).await;
                }
                WatchdogStep::Overdue => return (overdue.0)(),
                WatchdogStep::Ended => return,
            }
        }
    });
    Ok(Watchdog::stopped_by(move || task.abort()))
}
