//! The queue between a reflector and its store: client-go's `RealFIFO`, and its `DeltaFIFO`, which gathers by object.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `delta.rs` | [`Delta`]: one step from the server's state to the cache's |
//! | `delta_fifo.rs` | [`DeltaFifo`]: a queue of objects, each with all its deltas |
//! | `known_objects.rs` | a cache as the objects that the consumer of such a queue holds |
//! | `real_fifo.rs` | [`RealFifo`]: the queue of an informer as a state machine, and [`Batch`] |
//! | `delta_queue.rs` | [`DeltaQueue`]: the queue behind a lock, which producers and the consumer wait for |
//!
//! The loom model in `tests/model` compiles these files.

mod delta;
mod delta_fifo;
mod delta_queue;
mod known_objects;
mod real_fifo;

#[cfg(test)]
mod delta_fifo_test;
#[cfg(test)]
mod delta_queue_test;
#[cfg(test)]
mod real_fifo_test;

use super::{entry::Entry, sync};

pub use delta::Delta;
pub use delta_fifo::{DeltaFifo, DeltaKind, Deltas, KnownObjects, ObjectDelta};
pub use delta_queue::DeltaQueue;
pub use real_fifo::{Batch, RealFifo};
