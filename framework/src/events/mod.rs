//! Events about objects, for people: `kubectl describe` and `kubectl events` show them.
//!
//! A [`Recorder`] writes them through `events.k8s.io/v1`, with client-go's semantics and without its traps.
//! In a reconcile `cx.event(..)` is all there is to it; the recorder then belongs to the operator. Alone:
//!
//! ```no_run
//! use std::time::Duration;
//! use pilothouse::{client::Client, events::{Event, Recorder}, k8s::api::apps::v1::Deployment};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example(client: Client, deployment: Deployment) {
//! let recorder = Recorder::new(&client, "example.com/scaler");
//! recorder.start(&CancellationToken::new());
//! recorder.event(&deployment, Event::normal("Scaled", "Scale").note("from 2 to 3 pods"));
//! recorder.shutdown(Duration::from_secs(2)).await;
//! # }
//! ```
//!
//! What it guarantees:
//!
//! * Recording never waits for the network, never fails and never panics.
//! * Events that are equal in type, reason, action, reporter, and the objects they are about, are one series: one
//!   Event with a count. The second is told at once, further ones at a pace that halves each time, from 10 s to 30 min
//!   (the server forgets what nobody wrote for an hour); the last count follows when nothing was added for 6 min, and the
//!   next one then begins another series. The newest note is kept.
//! * An Event that somebody deleted, or that the server forgot, is created anew.
//! * About one object a controller may begin 25 series at once, and one more every 5 min. Repeating costs nothing.
//! * Eight requests at most are under way, and one that fails or hangs holds up no other. It is sent again with growing
//!   pauses, 12 times at most; what the server refuses is not. An object in a namespace that is being deleted is no
//!   matter for the log.
//! * At most 4096 series are remembered. What the server knows is forgotten first; when nothing can be, the new
//!   event is dropped. Everything that is dropped is counted with its reason.
//! * At the stop what is unsent is sent, within the time that is given.
//!
//! It needs to be allowed ([`Recorder::access`]) to `create` and `patch` `events` of `events.k8s.io`, and to `patch` those of the core group: the
//! note of an Event cannot be changed otherwise. Without the latter, notes stay what they were first.

mod correlator;
mod event;
mod event_type;
mod limits;
mod recorder;
mod reporter;
mod send;
mod series;
mod spam_limit;
mod target;
mod write;

#[cfg(test)]
mod tests;

pub use event::Event;
pub use event_type::EventType;
pub use recorder::Recorder;
