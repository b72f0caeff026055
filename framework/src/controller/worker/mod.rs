//! The reconcile loop: from the start of a controller to its stop, and the life of one key from the queue to its outcome.
//!
//! Start to stop (`start.rs`):
//!
//! 1. Connect the sources. Their listeners begin to add keys to the queue.
//! 2. Wait until every wired kind has synced (R4).
//! 3. Wait for leadership, if the operator has an election.
//! 4. Wait until the caches have reached a consistent list of the API server (R5).
//! 5. Run the workers (`worker.rs`) until the controller is cancelled, and then until the last call has ended.
//! 6. Shut down the queue and the sources.
//!
//! One key (`Worker::handle` in `worker.rs`):
//!
//! 1. Take the key from the queue. Check leadership and cancellation between two keys, never within one.
//! 2. Put the key aside while the caches lack what its last call wrote (read-your-writes).
//! 3. Put the key aside for a moment if its calls wrote too often (R9).
//! 4. Take the object from the cache (R3). A paused object, and a missing object that was never reconciled, end here.
//! 5. Invoke the user's code (`invoke.rs`): with the object, add the declared finalizers, then call `reconcile` and prune its
//!    children; or clean up if the object is being deleted. Without the object, delete its detached children and call
//!    `deleted`. The call is limited by the timeout, dropped if its generation is outdated, and a panic is caught (R10).
//! 6. Show the outcome on the object, as an Event and in the condition `Ready` (`publish.rs`).
//! 7. Count and log the outcome, and decide when the key comes again (`outcome.rs`).

mod invoke;
mod outcome;
mod publish;
mod start;
mod worker;

#[cfg(any(test, feature = "dev"))]
pub(crate) use invoke::{Invoker, Outcome, UserCode};
#[cfg(feature = "dev")]
pub(crate) use publish::publish;
#[cfg(test)]
pub(crate) use {
    outcome::{FinishedCall, finish},
    worker::{WorkerConfig, run_workers},
};
