//! Elects one leader among several processes with a Lease: client-go's `tools/leaderelection`.
//!
//! [`Election::lead`] waits until this process holds a Lease (`coordination.k8s.io/v1`) and returns a
//! guard value, [`Leading`]. Work must end before the guard does. A client from [`Leading::fence`]
//! sends requests only while this process leads. [`Leading::release`] hands the Lease over after the
//! work has ended.
//!
//! Guarantees ([R11](crate#guarantees)):
//!
//! * A fenced client sends no request later than the renew deadline (10 s) after the last
//!   successful renewal was sent, by a clock that counts suspension. The fence is checked in the same
//!   poll that hands the bytes to the kernel. [`Leading::fence`] states what remains possible.
//! * The first check that finds the leadership over ends it for every user of the guard, and for good.
//! * If work still runs 2 s before the lease can pass to another candidate, the process ends with
//!   exit code 3, even if that work blocks all threads of the runtime.
//! * Clocks of different machines are never compared.
//! * If a user deletes the Lease while a process leads, that process creates it again at its next
//!   renewal and continues. A candidate that has seen a holder waits for the holder's lease duration
//!   from the moment it finds the Lease gone, and only then creates it. By then a holder that could
//!   not renew has stopped.
//!
//! One case remains. A process that starts while the Lease is missing knows of no holder and creates
//! the Lease at once, so that a first installation does not wait. The process that led until then
//! stops at its next renewal: after at most one retry period (2 s) if the API server responds at once.
//! Do not delete the Lease of a running operator, and do not remove the holder from it.
//!
//! It uses the same Lease as client-go's elector and competes with it correctly. There are four
//! differences: a release happens only after the work has ended; leadership ends at once when another
//! process holds the Lease, not at the renew deadline; a lost term is never resumed; and a candidate
//! that has seen a holder does not create a deleted Lease at once.
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
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `election.rs` | [`Election`], a candidate: tries until it leads |
//! | `settings.rs` | [`ElectionSettings`]: the Lease, the identity and the durations |
//! | `candidate.rs` | the decision what to do with a Lease: no I/O, no clock |
//! | `lease_record.rs` | the Lease on the API server: reads and writes it |
//! | `term.rs` | how long one term of leadership holds |
//! | `watchdog.rs` | the thread that checks a term, and the clock that it waits on |
//! | `leading.rs` | [`Leading`] and [`Permit`]: the guard, the renewal task, the fence |
//! | `leadership_gate.rs` | [`LeadershipGate`]: holds back work until this process leads |
//! | `status.rs` | [`ElectionStatus`] and [`Phase`]: what readiness and the log show |
//! | `clock.rs` | a clock that counts suspension |
//! | `error.rs` | [`ElectionError`], [`NotLeading`] |

mod candidate;
mod clock;
mod election;
mod error;
mod leadership_gate;
mod leading;
mod lease_record;
mod settings;
mod status;
mod term;
mod watchdog;

#[cfg(test)]
mod test_clock;
#[cfg(test)]
mod tests;

pub(crate) use election::EXIT_OVERDUE;
pub use election::Election;
pub use error::{ElectionError, NotLeading};
pub use leadership_gate::LeadershipGate;
pub use leading::{Leading, Permit};
pub(crate) use settings::ElectionSetting;
pub use settings::ElectionSettings;
pub use status::{ElectionStatus, Phase};
