//! A queue of keys between events and workers: client-go's `util/workqueue`.
//!
//! [`WorkQueue`] deduplicates keys, gives each key to one worker at a time, delays keys, backs off after failures,
//! and is fair. It holds keys, never objects: a worker that takes a key reads the newest state of its object.
//!
//! * Each key has a [`Priority`]. Keys that a person waits for come before keys that nobody waits for. Lower
//!   priorities do not starve: a single key of a low priority waits for less than 30 s.
//! * Within a priority, groups of keys such as namespaces take turns, so that the 100 000 keys of one namespace do
//!   not delay another namespace ([`Builder::group_by`]).
//! * A [`Note`] tells why a key waits. When the key is added again, the notes are merged.
//! * [`Work`] is a key that a worker has. The worker reports through it how the work ended. A success forgets the
//!   failures of the key, and a key that is idle and has no failures takes no memory.
//! * A worker whose work is quick takes several keys at once, as a [`WorkBatch`].
//! * After a failure a [`RateLimiter`] decides how long the key waits. The default is [`ExponentialBackoff`] from 5
//!   ms to 300 s.
//!
//! # Differences from client-go
//! A key has one deadline, and any earlier run replaces it. Adding a key never waits. A drain ends as soon as the
//! last key is done. The queue counts the failures, and forgets them with [`Work::done`].
//!
//! Unlike controller-runtime's priority queue, this queue takes the age of keys into account, lets groups take turns,
//! and finishes the ready keys during a drain.
//!
//! ```
//! use pilothouse::queue::WorkQueue;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let queue = WorkQueue::new();
//! queue.add("default/web");
//! queue.add("default/web");
//!
//! let work = queue.get().await.unwrap();
//! queue.add(work.key); // a change during the work: the key comes once more
//! work.done();
//! assert_eq!(queue.get().await.unwrap().key, "default/web");
//! assert_eq!(queue.len(), 0);
//! # }
//! ```
//!
//! # Map for contributors
//! | file | what it contains |
//! | --- | --- |
//! | `work_queue.rs`, `builder.rs` | [`WorkQueue`] and [`Builder`]: what users call |
//! | `work.rs`, `work_batch.rs` | what a worker holds: [`Work`] and [`WorkBatch`] |
//! | `priority.rs`, `note.rs`, `queued_key.rs` | what belongs to a key: [`Priority`], [`Note`], and [`QueuedKey`] for people who look at the queue |
//! | `rate_limiter/` | how long a key waits after a failure |
//! | `inner.rs` | the clock, the rate limiter and the metrics around `shared_core.rs` |
//! | `shared_core.rs` | the lock around the state machine, and the list of waiting workers |
//! | `core.rs` | the synchronous state machine |
//! | `run.rs` | what a worker takes from it and reports to it: a run, how it ended, and [`Retry`] after a failure |
//! | `ready_keys.rs`, `groups.rs` | which of the ready keys comes next |
//! | `timing_wheel.rs` | the deadlines |
//! | `slab_list.rs` | linked lists for `ready_keys.rs` and `timing_wheel.rs` |
//!
//! The loom model in `tests/model` checks `core.rs`, `shared_core.rs` and the files that they use, as shipped. The
//! queue owns no task.

mod builder;
mod core;
mod groups;
mod inner;
mod note;
mod priority;
mod queued_key;
mod rate_limiter;
mod ready_keys;
mod run;
mod shared_core;
mod slab_list;
mod sync;
mod timing_wheel;
mod work;
mod work_batch;
mod work_queue;

#[cfg(test)]
mod core_test;
#[cfg(test)]
mod fairness_test;
#[cfg(test)]
mod shared_core_test;
#[cfg(test)]
mod timing_wheel_test;
#[cfg(test)]
mod work_queue_test;

pub use crate::backoff::Jitter;
pub use builder::Builder;
pub(crate) use inner::PerWorkerArc;
pub use note::Note;
pub use priority::Priority;
pub use queued_key::{KeyState, QueuedKey};
pub use rate_limiter::{
    ExponentialBackoff, FailedKey, FastSlow, Jittered, MaxOf, MaxWait, RateLimiter, TokenBucket,
};
pub use run::Retry;
pub use work::Work;
pub use work_batch::WorkBatch;
pub use work_queue::WorkQueue;
