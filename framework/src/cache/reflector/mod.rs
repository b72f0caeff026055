//! Lists and watches a collection: client-go's `Reflector`.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `reflector.rs` | [`Reflector`]: one list and what follows from it, in a loop |
//! | `lister_watcher.rs` | [`ListerWatcher`]: the source of the objects |
//! | `api.rs` | the API server as a [`ListerWatcher`] |
//! | `list_budget.rs` | [`ListBudget`]: how many lists run at the same time |
//! | `stream_list.rs` | reads a collection from a stream (KEP-3157) |
//! | `page_list.rs` | reads a collection page by page |
//! | `watch.rs` | follows the changes until only a list helps |
//! | `open_watch.rs` | an open watch, with its timeouts |
//! | `position.rs` | the resource version that the next request asks for, and its page size |
//! | `pause.rs` | the pause that follows from an error |
//! | `backoff.rs` | how long the reflector waits after a failure |
//! | `reopen_backoff.rs` | how soon a watch that ended is opened again |
//! | `convert.rs` | converts the events of a watch to deltas |

mod api;
mod backoff;
mod convert;
mod list_budget;
mod lister_watcher;
mod open_watch;
mod page_list;
mod pause;
mod position;
mod reflector;
mod reopen_backoff;
mod stream_list;
mod watch;

#[cfg(test)]
pub(super) use convert::delta;
pub use list_budget::ListBudget;
pub use lister_watcher::ListerWatcher;
pub use reflector::Reflector;
