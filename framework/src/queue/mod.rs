//! A queue of keys between events and workers: client-go's `util/workqueue`.
//!
//! [`WorkQueue`] deduplicates, keeps one worker per key, delays, backs off after failures, and is
//! fair. It holds keys, never objects: whoever takes a key reads the newest state of its object.
//!
//! * Each key has a [`Priority`]: what somebody waits for comes before what nobody does. Lower
//!   ones do not starve: a single one waits for less than 30 s.
//! * Within a priority, groups of keys such as namespaces take turns, so that the 100 000 keys of
//!   one do not keep another waiting ([`Builder::group_by`]).
//! * What is known of why a key waits goes with it: a [`Note`], merged whenever it is added again.
//! * [`Work`] is a key in a worker's hands. It says how the work ended; a success forgets the
//!   failures, and a key with nothing the matter takes no memory.
//! * Workers whose work is quick take several keys at once, in a [`Hand`].
//! * After failures a [`RateLimiter`] says how long a key waits: [`ExponentialBackoff`] from 5 ms
//!   to 300 s unless told.
//!
//! Beneath it is a synchronous state machine (`core.rs`, with `ready.rs` for the turns and
//! `wheel.rs` for the deadlines), around that a lock and the line of waiting workers
//! (`shared.rs`); all of them are model-checked as shipped. The queue owns no task.
//!
//! Where it differs from client-go: a key has one deadline, which any earlier run replaces; adding
//! a key never waits; a drain ends as soon as the last key is done; failures are counted by the
//! queue, and their memory ends with [`Work::done`]. From controller-runtime's it differs in that
//! age counts, groups take turns, and a drain drains.
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
//! queue.add(work.key); // a change while it is worked on: it comes once more
//! work.done();
//! assert_eq!(queue.get().await.unwrap().key, "default/web");
//! assert_eq!(queue.len(), 0);
//! # }
//! ```

mod builder;
mod chain;
mod core;
mod groups;
mod hand;
mod held;
mod jitter;
mod note;
mod priority;
mod queued_key;
mod rate_limiter;
mod ready;
mod retry;
mod shared;
mod sync;
mod wheel;
mod work;
mod work_queue;

#[cfg(test)]
mod core_test;
#[cfg(test)]
mod fairness_test;
#[cfg(test)]
mod shared_test;
#[cfg(test)]
mod wheel_test;
#[cfg(test)]
mod work_queue_test;

pub use builder::Builder;
pub use hand::Hand;
pub use jitter::Jitter;
pub use note::Note;
pub use priority::Priority;
pub use queued_key::{KeyState, QueuedKey};
pub use rate_limiter::{
    ExponentialBackoff, FastSlow, Jittered, MaxOf, MaxWait, RateLimiter, TokenBucket,
};
pub use retry::Retry;
pub use work::Work;
pub use work_queue::WorkQueue;
