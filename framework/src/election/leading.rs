use std::{fmt, sync::Arc};

use prometheus::IntCounter;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    ElectionError, NotLeading,
    lease_record::{Acquisition, LeaseRecord},
    status::ElectionStatus,
    term::Term,
    watchdog::Watchdog,
};
use crate::{client::Client, health::TaskMonitor, metrics::ElectionMetrics, resource::ObjectRef};

/// The guard of all work that only a leader may do: while it exists, this process leads or knows that
/// it has lost the leadership.
///
/// While the guard exists, a task renews the Lease. [`lost`](Self::lost) completes when leadership is
/// lost, and from then on [fenced clients](Self::fence) send nothing. Call [`release`](Self::release)
/// when the last work has ended; it gives the Lease back. If the guard is dropped without a release,
/// the Lease expires by itself.
///
/// Leadership is lost when the last successful renewal was *sent* longer ago than the renew deadline,
/// by a clock that counts suspension, or when another process holds the Lease. Then the caller must
/// end its work and drop the guard. If the guard still exists 2 s before the lease can pass to another
/// process, this process ends with exit code 3 (see [`Election::on_overdue`](super::Election::on_overdue)).
/// A dedicated thread checks that, so a blocked runtime does not prevent it.
#[must_use = "dropping it ends leadership"]
pub struct Leading {
    term: Arc<Term>,
    lease: String,
    object: ObjectRef,
    metrics: ElectionMetrics,
    status: ElectionStatus,
    /// Returns `None` if the renewal panicked.
    renewing: Option<JoinHandle<Option<LeaseRecord>>>,
    task_monitor: TaskMonitor,
    stop: CancellationToken,
    watchdog: Option<Watchdog>,
}

impl Leading {
    pub(super) fn begin(
        record: LeaseRecord,
        term: Arc<Term>,
        status: ElectionStatus,
        watchdog: Watchdog,
    ) -> Self {
        let stop = CancellationToken::new();
        let metrics = record.metrics.clone();
        metrics.master.set(1.0);
        tracing::info!(
            lease = record.lease,
            identity = record.settings.identity,
            "leading"
        );
        let (lease, object) = (record.lease.clone(), record.reference());
        let task_monitor = TaskMonitor::new();
        let renewing = {
            let (term, status, stop) = (term.clone(), status.clone(), stop.clone());
            let task_monitor = task_monitor.clone();
            async move {
                let renewing = renew(record, term, status, stop);
                task_monitor.run("lease renewal", renewing).await
            }
        };
        Self {
            lease,
            object,
            renewing: Some(tokio::spawn(renewing)),
            task_monitor,
            term,
            metrics,
            status,
            stop,
            watchdog: Some(watchdog),
        }
    }

    /// Whether this process leads now. Once `false`, it stays `false`.
    pub fn holds(&self) -> bool {
        self.term.holds()
    }

    /// Waits until leadership is lost.
    pub async fn lost(&self) {
        self.term.lost().cancelled().await;
    }

    /// A token that is cancelled when leadership is lost or when this guard is dropped.
    pub fn token(&self) -> CancellationToken {
        self.term.lost().clone()
    }

    /// A permit: it checks, also without this guard, whether this process still leads.
    pub fn permit(&self) -> Permit {
        Permit {
            term: self.term.clone(),
            lease: self.lease.clone(),
            refusals: self.metrics.refusals.clone(),
        }
    }

    /// Reports a panic of the task that renews the Lease. Leadership then lasts until the renew
    /// deadline; the caller should stop its work in that time.
    pub fn task_monitor(&self) -> &TaskMonitor {
        &self.task_monitor
    }

    /// The held Lease as the server returned it, for Events about it.
    pub fn lease(&self) -> &ObjectRef {
        &self.object
    }

    /// A client whose requests go out only while this process leads.
    ///
    /// The fence is checked before each attempt, again when a connection is ready, and each time bytes
    /// are handed to the kernel until the response begins. If the process does not lead, nothing is sent
    /// and the error is [`ErrorKind::Fenced`](crate::client::ErrorKind::Fenced). If a request was partly sent, its
    /// connection is closed, and other requests on that connection fail as if it had broken.
    ///
    /// Two things remain possible. First, bytes that the kernel already took may still arrive, however
    /// much later: the kernel repeats lost packets, and suspending or ending the process does not take
    /// them back. Second, the process may be suspended between the check of the fence and the call to
    /// the kernel. Writes with preconditions (a resource version or a UID) are safe against both: the
    /// API server refuses them if the next leader has changed the object.
    pub fn fence(&self, client: &Client) -> Client {
        let permit = self.permit();
        client.fenced(move || permit.check().map_err(Into::into))
    }

    /// Hands the leadership over: stops the renewals and removes the holder from the Lease, so that
    /// another candidate takes it at its next attempt. Call it only after all work has ended.
    ///
    /// Changes nothing on the server if this process does not hold the Lease any more.
    ///
    /// # Errors
    /// [`ElectionError::Release`] if the API server refused the write, or did not respond within the
    /// renew deadline. The Lease then expires by itself.
    pub async fn release(mut self) -> Result<(), ElectionError> {
        self.finish();
        let Some(renewing) = self.renewing.take() else {
            return Ok(());
        };
        let Ok(Some(mut record)) = renewing.await else {
            // The renewal task panicked and has logged that. The Lease expires by itself.
            return Ok(());
        };
        record.release().await.map_err(ElectionError::Release)?;
        tracing::info!(lease = self.lease, "released the Lease");
        Ok(())
    }

    /// Marks the work as ended, so that the watchdog stops.
    fn finish(&mut self) {
        self.term.end();
        self.stop.cancel();
        self.metrics.master.set(0.0);
        self.status.ended();
        self.watchdog = None;
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.finish();
        if let Some(renewing) = self.renewing.take() {
            renewing.abort();
        }
    }
}

impl fmt::Debug for Leading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leading")
            .field("lease", &self.lease)
            .field("holds", &self.holds())
            .finish_non_exhaustive()
    }
}

/// Checks whether a [`Leading`] still leads. It does not keep the leadership alive.
#[derive(Clone)]
pub struct Permit {
    term: Arc<Term>,
    lease: String,
    refusals: IntCounter,
}

impl Permit {
    /// Whether the process leads now. Once `false`, it stays `false`.
    pub fn holds(&self) -> bool {
        self.term.holds()
    }

    /// Checks that this process leads. Call it directly before an action that only a leader may take.
    ///
    /// # Errors
    /// [`NotLeading`] if the process does not lead any more. The metric of refused requests counts it.
    pub fn check(&self) -> Result<(), NotLeading> {
        if self.holds() {
            return Ok(());
        }
        self.refusals.inc();
        let lease = self.lease.clone();
        Err(NotLeading { lease })
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("holds", &self.holds())
            .finish()
    }
}

/// Renews the Lease until leadership is lost or `stop` is cancelled.
///
/// A cancellation drops a renewal that is under way. If the server applies that renewal all the same,
/// either it or the release has an outdated resource version, and the server refuses that one.
async fn renew(
    mut record: LeaseRecord,
    term: Arc<Term>,
    status: ElectionStatus,
    stop: CancellationToken,
) -> LeaseRecord {
    let until = term.lost().clone();
    let mut next = Instant::now() + record.settings.retry_period;
    loop {
        let pause = tokio::time::sleep_until(next);
        let stopped = tokio::select! {
            biased;
            () = stop.cancelled() => true,
            () = until.cancelled() => true,
            () = pause => false,
        };
        if stopped {
            break;
        }
        // The period counts from the sending: after a slow response the next renewal follows at once.
        next = Instant::now() + record.settings.retry_period;
        let result = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = until.cancelled() => break,
            result = record.try_acquire_or_renew() => result,
        };
        match result {
            Ok(Acquisition::Won { sent }) => {
                status.renewed();
                if !term.renewed(sent) {
                    break;
                }
            }
            Ok(Acquisition::Held { by }) => {
                tracing::error!(
                    lease = record.lease,
                    holder = by,
                    "another process has taken the Lease"
                );
                status.led_by(Some(&by));
                term.lose();
                break;
            }
            Err(error) => {
                status.record_failure(&error);
                tracing::warn!(lease = record.lease, %error, "renewing the Lease failed");
            }
        }
    }
    if !stop.is_cancelled() {
        record.metrics.master.set(0.0);
        tracing::error!(lease = record.lease, "leadership was lost");
    }
    record
}
