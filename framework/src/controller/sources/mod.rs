//! What leads to reconciles: one file per kind of source.
//!
//! Each is connected to an [`Inlet`], behind which is the queue. What comes of an informer comes by its
//! listener; a stream of the user is pumped by a task, which takes the next item only when there is room.

mod channel;
mod inlet;
mod kind;
mod lookup;
mod mapping;
mod own;
mod owned;
mod passes;
mod pump;
mod read;
mod registry;
mod request;
mod source;
mod timer;
mod watched;
mod wiring;

pub use channel::{Channel, ChannelStream, Closed};
pub use lookup::Lookup;
pub use registry::Sources;
pub use request::Request;
pub use source::Source;
pub use timer::Timer;

pub(super) use inlet::Inlet;
pub(super) use kind::Kind;
pub(super) use mapping::Mapping;
pub(super) use own::Own;
pub(super) use owned::Owned;
pub(super) use pump::Pumped;
pub(super) use read::Read;
pub(super) use watched::Watched;
pub(super) use wiring::{Connection, Wiring, informer};
