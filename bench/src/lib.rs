//! Benchmarks side by side with peers.
//!
//! * [`generator`]: the objects.
//! * [`server`]: an API server that only has bytes to hand out; [`reader`] shows how fast it does, [`writer`] how
//!   fast it takes applies, and [`waiter`] how soon its events can be known.
//! * [`keeper`]: what the types of Pods cost without a server.
//! * [`harness`]: builds the peers, runs them in turn, and writes the table.

pub mod generator;
pub mod harness;
pub mod keeper;
pub mod reader;
pub mod server;
pub mod waiter;
pub mod writer;

/// Processor time of this process until now, user and system, of all threads, in seconds.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
