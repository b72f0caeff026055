//! The order in which an operator stops, and the time limit of each step (R12).

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{OperatorError, Running};

/// The time limit for running reconciles after the operator was told to stop.
pub(super) const GRACE: Duration = Duration::from_secs(25);

/// The time limit for cancelled work. A cancelled task ends at its next await, so longer work blocks its thread.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);

/// The same after leadership was lost. The election's watchdog ends the process before this limit.
const LOST_TIMEOUT: Duration = Duration::from_secs(4);

/// The time limit for unsent Events.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(2);

/// The time limit for the caches and for the listener.
const SERVICES_TIMEOUT: Duration = Duration::from_millis(500);

/// The time by which the Lease must be released, counted from the start of the stop.
const RELEASE_DEADLINE: Duration = Duration::from_millis(28_750);

impl Running {
    pub(super) async fn finish(mut self) -> Result<(), OperatorError> {
        let begun = Instant::now();
        self.stopping.cancel();
        self.closing.cancel();
        let webhooks = self.webhooks.take();
        // Webhooks read the caches until they end, and the work may need the webhooks.
        let (reads_caches, work_ended) = (webhooks.is_some(), CancellationToken::new());
        let webhooks = async {
            if let Some(webhooks) = webhooks {
                webhooks.finish(begun, &work_ended).await;
            }
        };
        let others = self.finish_others(begun, reads_caches, &work_ended);
        let (unfinished, ()) = tokio::join!(others, webhooks);
        if reads_caches {
            self.informers.shutdown_within(SERVICES_TIMEOUT).await;
        }
        match (self.shutdown_cause.take(), unfinished) {
            (Some(error), _) => Err(error),
            (None, Some(work)) => Err(OperatorError::Overtime { work }),
            (None, None) => Ok(()),
        }
    }

    /// Ends all but the webhooks, and the caches if webhooks read them. Returns the work that has not ended.
    async fn finish_others(
        &mut self,
        begun: Instant,
        keeps_caches: bool,
        work_ended: &CancellationToken,
    ) -> Option<String> {
        let grace = async {
            tokio::select! {
                () = sleep(GRACE) => tracing::warn!(
                    "work still runs after {} s: it is cancelled",
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
        let limit = if lost { LOST_TIMEOUT } else { CANCEL_TIMEOUT };
        let ended = timeout(limit, self.work.wait()).await.is_ok();
        let unfinished = (!ended).then(|| self.tasks.unfinished());
        if let Some(work) = &unfinished {
            tracing::error!("cancelled work has not ended, because it blocks its thread: {work}");
        }
        work_ended.cancel();
        if let Some(leadership) = &self.leadership
            && ended
        {
            leadership.record_stop(&self.events);
        }
        // The fence would refuse the Events of a former leader.
        let last = if lost { Duration::ZERO } else { EVENTS_TIMEOUT };
        self.events.shutdown(last).await;
        if !keeps_caches {
            self.informers.shutdown_within(SERVICES_TIMEOUT).await;
        }
        self.stop_services.cancel();
        if timeout(SERVICES_TIMEOUT, self.services.wait())
            .await
            .is_err()
        {
            tracing::debug!("some connections have not ended in time");
        }
        // Happens only if all work has ended, because another process starts then. Only the webhooks still answer.
        if let Some(leadership) = self.leadership.take()
            && ended
        {
            let left = RELEASE_DEADLINE.saturating_sub(begun.elapsed());
            if timeout(left, leadership.release()).await.is_err() {
                tracing::warn!("the Lease was not released in time: it expires by itself");
            }
        }
        unfinished
    }
}
