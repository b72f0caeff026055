//! What a running controller remembers: the queue, the keys, the caches, the failures.
//!
//! Listeners, workers and contexts share one [`ControllerState`]. It knows no user type but the keys, so that its code is
//! compiled once and not for each reconciler.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `controller_state.rs` | [`ControllerState`]: all of the following in one value, and the way of a key into the queue |
//! | `key_states.rs` | what is remembered of each reconciled object, until the object is gone |
//! | `applied_children.rs` | the last apply of each child of one object |
//! | `own_writes.rs` | the versions of one object that the controller itself wrote, to recognize their events |
//! | `run_writes.rs` | what the last run of one object wrote to other objects, to recognize their events |
//! | `paused.rs` | which objects are paused |
//! | `copied_marks.rs` | objects that have the mark of a detached child and are none |
//! | `blocking_work.rs` | the blocking closures of all calls |
//! | `generations.rs` | the calls that are dropped when their object has a newer generation |
//! | `resync_period.rs` | when an unchanged object is reconciled again |
//! | `write_limit.rs` | how often the calls of one key may write |
//! | `failure_log.rs` | equal failures as one log line with a count |

mod applied_children;
mod blocking_work;
mod controller_state;
mod copied_marks;
mod failure_log;
mod generations;
mod key_states;
mod own_writes;
mod paused;
mod resync_period;
mod run_writes;
mod write_limit;

pub(crate) use applied_children::{Applied, ChildId, Written, child_id};
pub(crate) use blocking_work::{BlockingSlot, BlockingWork};
pub(crate) use controller_state::{ControllerState, WRITE_LIMIT, WriteGuard};
pub(crate) use failure_log::{FailureSummary, LogDecision, Rounded};
pub(crate) use generations::Generations;
pub(crate) use key_states::{Cleaned, KeyState, LastFailure, PublishedReady, WrittenStatus};
pub(crate) use resync_period::ResyncPeriod;
pub(crate) use run_writes::{ObjectId, Shown, object_id};
pub(crate) use write_limit::WriteLimit;
