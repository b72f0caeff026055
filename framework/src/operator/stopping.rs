//! The order in which an operator stops, and the time that each part gets (design promise R12).

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{OperatorError, Running};

/// How long reconciles that run may take to end once the operator stops.
pub(super) const GRACE: Duration = Duration::from_secs(25);

/// How long what was cancelled may take to end: it does so where it next waits, so that what runs longer blocks
/// its thread.
const CANCELLED: Duration = Duration::from_millis(500);

/// The same where leadership was lost: its watchman ends the process before that.
const LOST: Duration = Duration::from_secs(4);

/// How long the events that are unsent then may take.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// How long caches and listener may take.
const SERVICES: Duration = Duration::from_millis(500);

/// By when the lease has to be given back, from the beginning of the stop.
const LEASE: Duration = Duration::from_millis(28_750);

impl Running {
    pub(super) async fn finish(mut self) -> Result<(), OperatorError> {
        let begun = Instant::now();
        self.stopping.cancel();
        self.closing.cancel();
        let grace = async {
            tokio::select! {
                () = sleep(GRACE) => tracing::warn!(
                    "reconciles still run after {} s: they are cancelled",
                    GRACE.as_secs()
                ),
                // Leadership was lost.
                () = self.abort.cancelled() => {}
            }
        };
        tokio::select! {
            () = self.work.wait() => {}
            () = grace => self.abort.cancel(),
        }
        let lost = self.leadership.as_ref().is_some_and(|one| one.is_lost());
        let limit = if lost { LOST } else { CANCELLED };
        let ended = timeout(limit, self.work.wait()).await.is_ok();
        if !ended {
            tracing::error!("work still runs though it was cancelled: it blocks its thread");
        }
        if let Some(leadership) = &self.leadership
            && ended
        {
            leadership.farewell(&self.events);
        }
        // The fence holds back what a former leader would still have to say.
        let last = if lost { Duration::ZERO } else { LAST_EVENTS };
        self.events.shutdown(last).await;
        self.informers.shutdown_within(SERVICES).await;
        self.end.cancel();
        if timeout(SERVICES, self.others.wait()).await.is_err() {
            tracing::debug!("connections are left behind");
        }
        // Last of all, and only if nobody works: others begin then.
        if let Some(leadership) = self.leadership.take()
            && ended
        {
            let left = LEASE.saturating_sub(begun.elapsed());
            if timeout(left, leadership.release()).await.is_err() {
                tracing::warn!("the lease was not given back in time: it runs out");
            }
        }
        match self.trouble.take() {
            Some(error) => Err(error),
            None if ended => Ok(()),
            None => Err(OperatorError::Overtime),
        }
    }
}
