//! Leader election: of several processes that could do the same work, one does it.
//!
//! [`Election::lead`] waits until this process holds a Lease (`coordination.k8s.io/v1`), and gives a
//! [`Leading`]: a guard value. Work lasts no longer than the guard; requests that only a
//! leader may send go through [`Leading::fence`]; [`Leading::release`] hands over when the work ended.
//!
//! What it guarantees (design promise R11):
//!
//! * No request of a fenced client goes out later than the renew deadline (10 s) after the last
//!   renewal that succeeded was sent, by a clock that counts suspension, checked directly before sending.
//! * Who notices first that leadership is over ends it for all, and for good.
//! * Work that still runs 2 s before the lease can pass ends the process (exit code 3), also when it
//!   blocks all of the runtime's threads.
//! * The clocks of different machines are never compared.
//!
//! It follows client-go's `tools/leaderelection` and contends with it for the same Lease. Otherwise
//! than there, a release comes after the work has ended, never before; a lease that somebody else
//! holds ends leadership at once, not at the renew deadline; and a lost term is never taken up again.
//!
//! ```no_run
//! use pilothouse::{client::Client, election::{Election, ElectionSettings}, metrics::Metrics};
//!
//! # async fn work(client: Client) {}
//! # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//! let settings = ElectionSettings::new("website");
//! let leading = Election::new(&client, settings, &Metrics::new())?.lead().await;
//! let fenced = leading.fence(&client);
//! tokio::select! {
//!     () = work(fenced) => leading.release().await?,
//!     () = leading.lost() => return Err("leadership was lost".into()),
//! }
//! # Ok(()) }
//! ```

mod ballot;
mod candidate;
mod clock;
mod election;
mod error;
mod leading;
mod phase;
mod settings;
mod status;
mod term;
mod turn;
mod watchman;

#[cfg(test)]
mod tests;

pub(crate) use election::EXIT_OVERDUE;
pub use election::Election;
pub use error::{ElectionError, NotLeading};
pub use leading::{Leading, Permit};
pub use phase::Phase;
pub use settings::ElectionSettings;
pub(crate) use settings::Part;
pub use status::ElectionStatus;
pub use turn::Turn;
