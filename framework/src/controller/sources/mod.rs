//! What leads to reconciles: informers of wired kinds, and streams of the user.
//!
//! Each source adds keys to the queue through an [`Enqueuer`]. A source of a kind gets its events from a listener on the
//! kind's informer. A stream of the user is read by a task, which takes the next item only while the queue has capacity.
//!
//! What users write:
//!
//! | file | what it holds |
//! | --- | --- |
//! | `declarations.rs` | [`Owned`], [`Watched`], [`Read`]: a kind with options, for [`Controller::watch`](crate::controller::Controller::watch) and [`Sources::watch`] |
//! | `mapping.rs` | [`Mapping`]: from an object of a watched kind to keys of the reconciled kind |
//! | `channel.rs`, `timer.rs` | [`Channel`], [`Timer`]: streams of requests |
//! | `poll.rs` | [`Poll`]: looks at something outside of the cluster at intervals |
//! | `request.rs` | [`Request`]: what a stream asks for |
//! | `sources.rs`, `source.rs` | [`Sources`]: sources that are added while the controller runs; [`Source`]: one of them |
//!
//! How a source works:
//!
//! | file | what it holds |
//! | --- | --- |
//! | `wiring.rs` | [`Wiring`]: a source before it starts; [`Connection`]: a source from its first event to its last |
//! | `reconciled_kind.rs`, `owned_kind.rs`, `watched_kind.rs` | what each sort of kind makes of an event |
//! | `stream_source.rs` | the task that reads a stream |
//! | `kind.rs` | the informer of a kind, and the listener on it; a kind that is only read |
//! | `declared_index.rs` | an index before its controller starts |
//! | `described.rs` | a change as the debug page shows it |
//! | `filter.rs` | predicates, and the priority of an event |
//! | `enqueuer.rs` | [`Enqueuer`]: from a source to the queue; closed until the source has synced |
//! | `fixed_cache.rs` | caches without informers, for [`testing::Offline`](crate::testing::Offline) |

mod channel;
mod declarations;
mod declared_index;
mod described;
mod enqueuer;
mod filter;
#[cfg(feature = "dev")]
mod fixed_cache;
mod kind;
mod mapping;
mod owned_kind;
mod poll;
mod reconciled_kind;
mod request;
mod source;
mod sources;
mod stream_source;
mod timer;
mod watched_kind;
mod wiring;

pub use channel::{Channel, ChannelStream, Closed, TrySendError};
pub use declarations::{
    Detached, Dynamic, KindSource, Owned, Pruned, Read, RuntimeSource, Typed, Watched,
};
pub use mapping::Mapping;
pub use poll::Poll;
pub use request::Request;
pub use source::Source;
pub use sources::Sources;
pub use timer::Timer;

pub(crate) use declarations::Declaration;
pub(crate) use declared_index::{AnyDeclaredIndex, DeclaredIndex};
pub(crate) use enqueuer::Enqueuer;
pub(crate) use filter::leaves_out;
#[cfg(feature = "dev")]
pub(crate) use fixed_cache::FixedCache;
pub(crate) use poll::PollSource;
pub(crate) use reconciled_kind::ReconciledKind;
pub(crate) use stream_source::StreamSource;
pub(crate) use wiring::{Connection, Wiring, informer};
