//! The answers of the API server, decoded.
//!
//! | file | holds |
//! | --- | --- |
//! | `object_list.rs` | [`ObjectList`]: the answer to a list |
//! | `deleted.rs` | [`Deleted`]: the answer to a deletion |
//! | `watch_event.rs` | [`WatchEvent`]: one line of a watch |

mod deleted;
mod object_list;
mod watch_event;

pub use deleted::Deleted;
pub use object_list::ObjectList;
pub use watch_event::{Change, WatchEvent};
