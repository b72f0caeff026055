//! The queue between a reflector and its store: client-go's `RealFIFO`.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `delta.rs` | [`Delta`]: one step from the server's state to the cache's |
//! | `delta_fifo.rs` | [`DeltaFifo`]: the queue as a state machine, and [`Batch`] |
//! | `delta_queue.rs` | [`DeltaQueue`]: the queue behind a lock, which producers and the consumer wait for |
//!
//! The loom model in `tests/model` compiles these files.

mod delta;
mod delta_fifo;
mod delta_queue;

#[cfg(test)]
mod delta_fifo_test;
#[cfg(test)]
mod delta_queue_test;

use super::sync;

pub use delta::Delta;
pub use delta_fifo::{Batch, DeltaFifo};
pub use delta_queue::DeltaQueue;
