//! Read your writes (R5): a key is not reconciled again before the caches have what its last call wrote.
//!
//! Each write makes a demand on the caches that may hold the object. A key with unmet demands is parked. It goes back to the
//! queue when the informers deliver what it wrote, or when a request to the API server settles the demand after 10 s.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `writes.rs` | [`ReadYourWrites`]: connects the parts below with the queue |
//! | `core.rs` | the state machine that decides, without tokio; model-checked as shipped |
//! | `questions.rs` | the part of it that asks the server about demands that the caches do not meet in time |
//! | `pending.rs`, `demand_index.rs` | the demands of one key; an index of all demands by informer and object |
//! | `locked_core.rs` | the lock around it; model-checked as shipped |
//! | `demand.rs` | what one write demands of one cache, and whether the cache meets it; [`Caches`](demand::Caches): how it reads them |
//! | `informers.rs`, `cached.rs` | the informers of the controller, without their Rust types |
//! | `follower.rs` | reports the events of an informer to the core |
//! | `server_check.rs` | sends the questions of `questions.rs` to the API server |
//! | `catch_up.rs` | holds the first reconcile back until the caches have what the API server had, and what a former leader wrote |
//!
//! The deadlines of the demands are an ordered set in `core.rs`, although the [`queue`](crate::queue) has a timing wheel. A
//! queue may have deadlines for 100 000 keys and changes one with each run. The wheel does that in constant time, for places
//! that the queue numbers anyway. Here the few keys that wait have deadlines, nothing numbers them, and the deadlines of one
//! millisecond come in the order of their keys. So a wheel would need a table of numbered places, which is more code than
//! the calls of the set that it would replace.

mod cached;
mod catch_up;
mod core;
mod demand;
mod demand_index;
mod follower;
mod informers;
mod locked_core;
mod pending;
mod questions;
mod server_check;
mod sync;
mod writes;

#[cfg(test)]
mod core_test;
#[cfg(test)]
mod locked_core_test;

pub(in crate::controller) use cached::has_reached;
pub(crate) use demand::compare as compare_versions;
pub(crate) use informers::Followed;
pub(crate) use writes::{ReadYourWrites, WaitingKey};
