//! Benchmarks that compare Pilothouse with its peers.
//!
//! * [`generator`]: the objects.
//! * [`server`]: an API server that only sends prepared bytes. [`reader`] measures how fast it sends them, [`writer`] how
//!   fast it accepts applies, and [`waiter`] how soon a client can receive its events.
//! * [`keeper`]: the cost of the Pod type without a server.
//! * [`harness`]: builds the peers, runs them in turn, and writes the table.

pub mod generator;
pub mod harness;
pub mod keeper;
pub mod reader;
pub mod server;
pub mod waiter;
pub mod writer;

/// Returns the processor time of this process until now in seconds: user and system, all threads.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
