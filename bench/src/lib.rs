//! Benchmarks side by side with peers.
//!
//! * [`generator`]: the objects.
//! * [`server`]: an API server that only has bytes to hand out; [`reader`] shows how fast it does, and [`writer`] how
//!   fast it takes applies.
//! * [`harness`]: builds the peers, runs them in turn, and writes the table.

pub mod generator;
pub mod harness;
pub mod reader;
pub mod server;
pub mod writer;
