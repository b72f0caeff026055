use std::{fmt, sync::Arc};

use prometheus::IntCounter;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    ElectionError, NotLeading,
    ballot::{Ballot, Vote},
    status::ElectionStatus,
    term::Term,
    watchman::Watchman,
};
use crate::{client::Client, health::Lifeline, metrics::ElectionMetrics, resource::ObjectRef};

/// This process leads: the guard of all work that only a leader may do.
///
/// While it lives the lease is renewed. It tells when leadership is [lost](Self::lost), keeps back
/// the requests of [fenced clients](Self::fence) from then on, and gives the lease back
/// on [`release`](Self::release), which is to be called when the last work has ended. Dropped
/// without that, the lease runs out by itself.
///
/// Leadership is lost when the last renewal that succeeded was *sent* longer ago than the renew
/// deadline, by a clock that counts suspension, or when somebody else holds the lease. Work has to
/// end then, and this guard with it: 2 s before the lease can pass to another the process ends if the
/// guard still lives (exit code 3; see [`Election::on_overdue`](super::Election::on_overdue)). A
/// thread of its own sees to that, whatever blocks the runtime.
#[must_use = "dropping it ends leadership"]
pub struct Leading {
    term: Arc<Term>,
    lease: String,
    object: ObjectRef,
    metrics: ElectionMetrics,
    status: ElectionStatus,
    /// Nothing comes of a renewal that panicked.
    renewing: Option<JoinHandle<Option<Ballot>>>,
    lifeline: Lifeline,
    stop: CancellationToken,
    watchman: Option<Watchman>,
}

impl Leading {
    pub(super) fn begin(
        ballot: Ballot,
        term: Arc<Term>,
        status: ElectionStatus,
        watchman: Watchman,
    ) -> Self {
        let stop = CancellationToken::new();
        let metrics = ballot.metrics.clone();
        metrics.master.set(1.0);
        tracing::info!(
            lease = ballot.lease,
            identity = ballot.settings.identity,
            "leading"
        );
        let (lease, object) = (ballot.lease.clone(), ballot.reference());
        let lifeline = Lifeline::new();
        let renewing = {
            let (term, status, stop) = (term.clone(), status.clone(), stop.clone());
            let lifeline = lifeline.clone();
            async move {
                let renewing = renew(ballot, term, status, stop);
                lifeline.guard("lease renewal", renewing).await
            }
        };
        Self {
            lease,
            object,
            renewing: Some(tokio::spawn(renewing)),
            lifeline,
            term,
            metrics,
            status,
            stop,
            watchman: Some(watchman),
        }
    }

    /// Whether this process leads now. Once it is `false` it stays so.
    pub fn holds(&self) -> bool {
        self.term.holds()
    }

    /// Waits until leadership is lost.
    pub async fn lost(&self) {
        self.term.lost().cancelled().await;
    }

    /// Cancelled when leadership is lost, or this guard is gone.
    pub fn token(&self) -> CancellationToken {
        self.term.lost().clone()
    }

    /// A permit to ask again and again, without the guard, whether this process leads.
    pub fn permit(&self) -> Permit {
        Permit {
            term: self.term.clone(),
            lease: self.lease.clone(),
            refusals: self.metrics.refusals.clone(),
        }
    }

    /// Cut when the task that renews the lease has panicked. Leadership then lasts until the renew deadline: who hears of
    /// it stops in the time that is left.
    pub fn lifeline(&self) -> &Lifeline {
        &self.lifeline
    }

    /// The Lease that is held, as the server gave it, for Events about it.
    pub fn lease(&self) -> &ObjectRef {
        &self.object
    }

    /// A client whose requests go out only while this process leads.
    ///
    /// The fence is asked before each attempt, when the connection is there, and each time bytes are handed to the
    /// kernel until the answer begins. If the process does not lead, nothing is sent and the error is
    /// [`Error::Fenced`](crate::client::Error::Fenced). A connection that has a request in the middle ends then, and
    /// other requests on it fail as on a connection that broke.
    ///
    /// Two things remain possible. What the kernel had already taken may still arrive, however much later: it repeats
    /// lost packets by itself, and neither a suspended nor an ended process takes them back. And the process may be
    /// suspended between the two instructions that ask the fence and call the kernel. Writes with preconditions (a
    /// resource version or a UID) are safe against both: the API server refuses them if the next leader has changed
    /// the object.
    pub fn fence(&self, client: &Client) -> Client {
        let permit = self.permit();
        client.fenced(move || permit.check().map_err(Into::into))
    }

    /// Hands over: no renewal any more, and the Lease without a holder, so that another candidate
    /// takes it at its next look. Only to be called when all work has ended.
    ///
    /// Does nothing on the server if the Lease is not ours any more.
    ///
    /// # Errors
    /// The server was not reached in time; the lease then runs out by itself.
    pub async fn release(mut self) -> Result<(), ElectionError> {
        self.finish();
        let Some(renewing) = self.renewing.take() else {
            return Ok(());
        };
        let Ok(Some(mut ballot)) = renewing.await else {
            // Panicked, and said so where that happened: the lease runs out.
            return Ok(());
        };
        ballot.give_back().await.map_err(ElectionError::Release)?;
        tracing::info!(lease = self.lease, "gave the lease back");
        Ok(())
    }

    /// No work runs any more: nothing has to be watched.
    fn finish(&mut self) {
        self.term.end();
        self.stop.cancel();
        self.metrics.master.set(0.0);
        self.status.ended();
        self.watchman = None;
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

/// Tells whether a [`Leading`] still leads. It does not keep leadership alive.
#[derive(Clone)]
pub struct Permit {
    term: Arc<Term>,
    lease: String,
    refusals: IntCounter,
}

impl Permit {
    /// Whether the process leads now. Once it is `false` it stays so.
    pub fn holds(&self) -> bool {
        self.term.holds()
    }

    /// For what may only be done while the process leads: asked directly before it is done.
    ///
    /// # Errors
    /// It does not lead any more. That is counted as a refusal.
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

/// Renews the lease until it is lost or `stop` says that no renewal is needed any more.
///
/// Stopped while a renewal is under way, it drops it. Should the server take it all the same, the
/// version that it is for is not the one any more that a release was for, or the other way round.
async fn renew(
    mut ballot: Ballot,
    term: Arc<Term>,
    status: ElectionStatus,
    stop: CancellationToken,
) -> Ballot {
    let until = term.lost().clone();
    let mut next = Instant::now() + ballot.settings.retry_period;
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
        // From when it is sent: a slow server gets its next renewal as soon as it has answered.
        next = Instant::now() + ballot.settings.retry_period;
        let vote = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = until.cancelled() => break,
            vote = ballot.cast() => vote,
        };
        match vote {
            Ok(Vote::Won { sent }) => {
                status.renewed();
                if !term.renewed(sent) {
                    break;
                }
            }
            Ok(Vote::Held { by }) => {
                tracing::error!(
                    lease = ballot.lease,
                    holder = by,
                    "the lease was taken by another"
                );
                status.led_by(Some(&by));
                term.lose();
                break;
            }
            Err(error) => {
                status.troubled(&error);
                tracing::warn!(lease = ballot.lease, %error, "the lease was not renewed");
            }
        }
    }
    if !stop.is_cancelled() {
        ballot.metrics.master.set(0.0);
        tracing::error!(lease = ballot.lease, "leadership was lost");
    }
    ballot
}
