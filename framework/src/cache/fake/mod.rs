//! A server for tests. It has a history of resource versions, forgets them on request, ends its watches, and records
//! the requests that it receives.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `server.rs` | [`FakeServer`]: what tests call, and its [`ListerWatcher`](super::ListerWatcher) |
//! | `state.rs` | its history, and how it answers lists and watches |
//! | `faults.rs` | what it does wrong on request |
//! | `objects.rs` | objects for tests |
//! | `errors.rs` | the errors that it answers with |

mod errors;
mod faults;
mod objects;
mod server;
mod state;

pub(crate) use errors::*;
pub(crate) use faults::{Answer, ListHabit, StreamFault, Streaming, WatchHabit};
pub(crate) use objects::{object, run_ready_tasks, undecodable};
pub(crate) use server::FakeServer;
