//! Leader election: of several processes that could do the same work, one does it.
//!
//! [`Election::lead`] waits until this process holds a Lease (`coordination.k8s.io/v1`), and gives a
//! [`Leading`]: a guard value. Work lasts no longer than the guard; requests that only a
//! leader may send go through [`Leading::fence`]; [`Leading::release`] hands over when the work ended.
//!
//! What it guarantees (design promise R11):
//!
//! * No request of a fenced client goes out later than the renew deadline (10 s) after the last
//!   renewal that succeeded was sent, by a clock that counts suspension. The fence is asked in the poll that hands the
//!   bytes to the kernel. [`Leading::fence`] says what remains possible.
//! * Who notices first that leadership is over ends it for all, and for good.
//! * Work that still runs 2 s before the lease can pass ends the process (exit code 3), also when it
//!   blocks all of the runtime's threads.
//! * The clocks of different machines are never compared.
//! * Somebody may delete the Lease while a process leads. That process creates it again at its next renewal and goes on.
//!   A candidate that has seen a holder waits the holder's lease duration from when it finds the Lease gone, and creates
//!   it only then: by then a holder that could not renew has stopped.
//!
//! One case remains. A process that starts while the Lease is missing knows of no holder and creates the Lease at
//! once, so that a first installation does not wait. The process that led until then stops at its next renewal, after a
//! retry period (2 s) at most if the API server answers at once. Do not delete the Lease of an operator that runs. The
//! same goes for an edit that takes the holder out of the Lease.
//!
//! It follows client-go's `tools/leaderelection` and contends with it for the same Lease. Otherwise
//! than there, a release comes after the work has ended, never before; a lease that somebody else
//! holds ends leadership at once, not at the renew deadline; a lost term is never taken up again; and a deleted Lease is
//! not created at once by a candidate that has seen a holder.
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
