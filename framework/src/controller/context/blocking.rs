use std::{
    future::pending,
    panic::resume_unwind,
    sync::{Arc, OnceLock},
};

use futures_util::future::BoxFuture;
use tokio::{sync::oneshot, task::spawn_blocking};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use tracing::{
    Span,
    dispatcher::{get_default, with_default},
};

use super::context::Context;
use crate::{
    controller::{
        reconcilable::Reconcilable,
        state::{BlockingSlot, ControllerState},
    },
    health::{CaughtPanic, catch_panic},
};

/// Code that blocks its thread.
impl<K: Reconcilable> Context<K> {
    /// Runs `work` on a thread on which it may block, and returns its value. For long computations, and for libraries that
    /// are not async. A reconcile that blocks without this holds up other objects, timers and the renewal of the Lease.
    ///
    /// * At most one closure for each [worker](crate::controller::Controller::concurrency) of the controller runs at once, and
    ///   at most 128. Others wait for their turn.
    /// * A panic of `work` is a panic of the reconcile ([R10](crate#guarantees)).
    /// * Nobody can stop a running closure. If its reconcile times out, is outdated by a newer generation or fails meanwhile,
    ///   the closure runs on, and its value is dropped. The object is reconciled again only when the closure has ended too
    ///   ([R1](crate#guarantees)), and it keeps its worker until then. So let a long closure look at the
    ///   [token](Self::cancellation), which is cancelled at that moment and when the controller begins to stop.
    /// * A stop waits 25 s for it, as for each reconcile. A closure that runs longer does not hold up the end of the process
    ///   ([R12](crate#guarantees)): the process ends with exit code 3, and does not release the Lease, so another process takes
    ///   over only after the Lease has expired.
    ///
    /// ```no_run
    /// # use std::{fs, io};
    /// # use pilothouse::{controller::{Context, Result}, k8s::api::core::v1::ConfigMap};
    /// # async fn example(cx: &Context<ConfigMap>, folder: std::path::PathBuf) -> Result<u64> {
    /// let cancelled = cx.cancellation().clone();
    /// let size = cx.blocking(move || {
    ///     let mut size = 0;
    ///     for file in fs::read_dir(folder)? {
    ///         if cancelled.is_cancelled() {
    ///             return Err(io::ErrorKind::Interrupted.into());
    ///         }
    ///         size += file?.metadata()?.len();
    ///     }
    ///     Ok::<_, io::Error>(size)
    /// });
    /// let size = size.await?;
    /// # Ok(size) }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime, which is possible only in a test with `testing::Offline`.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let place = self.place_for_blocking().await;
        let (span, dispatch) = (Span::current(), get_default(Clone::clone));
        let (sender, receiver) = oneshot::channel();
        // The place joins it. It travels with the result, so nothing of the user's code is left in the thread once the call
        // has the result.
        drop(spawn_blocking(move || {
            with_default(&dispatch, || {
                let _inside = span.enter();
                let Err((result, place)) = sender.send((catch_panic(work), place)) else {
                    return;
                };
                // The call has ended without it. The value is dropped before the place.
                if let Err(panic) = result.and_then(|value| catch_panic(|| drop(value))) {
                    place.report(&panic);
                }
            });
        }));
        match receiver.await {
            Ok((Ok(value), _place)) => value,
            Ok((Err(panic), place)) => {
                drop(place);
                resume_unwind(Box::new(panic))
            }
            // The runtime shuts down and has not started the closure. It drops this task, too.
            Err(_) => pending().await,
        }
    }

    fn place_for_blocking(&self) -> BoxFuture<'_, Place> {
        Box::pin(async move {
            let controller = &self.shared.controller;
            let slot = controller.blocking.slot(&self.key).await;
            Place {
                controller: controller.clone(),
                _call: self.blocking_calls.token(),
                slot,
            }
        })
    }

    /// Whether closures of this call still run.
    pub(crate) fn has_blocking_work(&self) -> bool {
        self.blocking_calls.are_running()
    }

    /// Tells the closures of this call, which is over, to end, and waits for them.
    pub(crate) async fn end_blocking_work(&self) {
        self.cancellation.token(&self.shared.stop).cancel();
        self.blocking_calls.ended().await;
    }
}

/// What one closure occupies: a part of its call, and a slot of its controller.
struct Place {
    controller: Arc<ControllerState>,
    _call: TaskTrackerToken,
    slot: BlockingSlot,
}

impl Place {
    /// The closure has ended after its call, with a panic.
    fn report(&self, panic: &CaughtPanic) {
        self.controller.metrics.panics.inc();
        let kind = &self.controller.resource.kind;
        tracing::error!(
            "blocking code of {kind} {} panicked after its call had ended: {panic}",
            self.slot.key
        );
    }
}

/// The blocking closures of one call. Clones share them.
#[derive(Debug, Default)]
pub(super) struct BlockingCalls(OnceLock<TaskTracker>);

impl BlockingCalls {
    fn token(&self) -> TaskTrackerToken {
        self.0.get_or_init(TaskTracker::new).token()
    }

    fn are_running(&self) -> bool {
        self.0.get().is_some_and(|calls| !calls.is_empty())
    }

    async fn ended(&self) {
        if let Some(calls) = self.0.get() {
            calls.close();
            calls.wait().await;
        }
    }
}

impl Clone for BlockingCalls {
    fn clone(&self) -> Self {
        Self(self.0.get_or_init(TaskTracker::new).clone().into())
    }
}
