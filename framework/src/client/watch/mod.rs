//! The stream of events of one watch.
//!
//! [`Api::watch`](super::Api::watch) opens a watch and returns a [`WatchStream`]. The stream ends when the server ends the
//! watch; an informer of [`cache`](crate::cache) opens the next one.
//!
//! | file | holds |
//! | --- | --- |
//! | `watch_stream.rs` | [`WatchStream`], and how it decodes events ahead of a quick reader |

mod watch_stream;

pub(crate) use watch_stream::ReadEvent;
pub use watch_stream::WatchStream;
