//! Delivers the changes of a cache: to functions that the informer calls, and to streams that users read. Follows
//! client-go's `sharedProcessor`.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `listener.rs` | [`Listener`]: one handler with its metrics, its panics and its resyncs |
//! | `listeners.rs` | [`Listeners`]: how listeners come to the informer's task and leave it |
//! | `listener_options.rs` | [`ListenerOptions`] |
//! | `subscription.rs` | [`Subscription`]: the user's handle of a listener |
//! | `event_stream.rs` | [`EventStream`]: the changes as a stream that the informer never waits for |
//! | `coalesced.rs` | the events that wait for a stream, at most one for each object |
//! | `resync.rs` | when a listener receives unchanged objects again |
//! | `cache_observer.rs` | [`CacheObserver`]: how other layers of the framework follow a cache |

mod cache_observer;
mod coalesced;
mod event_stream;
mod listener;
mod listener_options;
mod listeners;
mod resync;
mod subscription;

pub(super) use cache_observer::ObserverHandler;
pub(crate) use cache_observer::{BatchInfo, CacheObserver};
pub use event_stream::EventStream;
pub(super) use event_stream::event_stream;
pub(super) use listener::{EventHandler, HandlerWithOrigin, Listener};
pub use listener_options::ListenerOptions;
pub(super) use listeners::Listeners;
pub use subscription::Subscription;
