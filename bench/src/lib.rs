//! Benchmarks side by side with peers.
//!
//! * [`generator`]: the objects.
//! * [`server`]: an API server that only has bytes to hand out; [`reader`] shows how fast it does, [`writer`] how
//!   fast it takes applies, and [`waiter`] how soon its events can be known.
//! * [`harness`]: builds the peers, runs them in turn, and writes the table.

pub mod generator;
pub mod harness;
pub mod reader;
pub mod server;
pub mod waiter;
pub mod writer;
