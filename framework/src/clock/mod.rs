//! The wall clock: where the timestamps that a program writes into objects come from.
//!
//! A [`Clock`] belongs to a [`Client`](crate::client::Client), and so to everything that works with this client: the
//! [`Context`](crate::controller::Context) of a reconcile, the condition `Ready`, the Events, the Lease of an election. By
//! default it is the clock of the machine. `testing::Cluster` and `testing::Offline` give their client another one, which
//! follows tokio's clock: with that clock paused, a day passes as soon as every task waits, and two runs of a test write
//! equal timestamps.
//!
//! ```
//! use pilothouse::clock::Clock;
//! use pilothouse::k8s::jiff::Timestamp;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), pilothouse::k8s::jiff::Error> {
//! let clock = Clock::starting_at("2028-02-29T23:00:00Z".parse()?);
//! tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
//! assert_eq!(clock.now(), "2028-03-01T00:00:00Z".parse::<Timestamp>()?);
//! # Ok(()) }
//! ```
//!
//! A wall clock is for timestamps only. It may jump, so durations, deadlines and the fence of leadership never come from it:
//! they use tokio's clock, and the election a clock that counts suspension.

#[expect(clippy::module_inception, reason = "the folder has one type")]
mod clock;

pub use clock::Clock;
pub(crate) use clock::in_seconds;
