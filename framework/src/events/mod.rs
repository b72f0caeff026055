//! Events about objects, for people: `kubectl describe` and `kubectl events` show them.
//!
//! A [`Recorder`] writes them through `events.k8s.io/v1` with the semantics of client-go's
//! `tools/events`. A reconcile calls `cx.event(..)` and uses the recorder of the operator. Without an
//! operator:
//!
//! ```no_run
//! use std::time::Duration;
//! use pilothouse::{client::Client, events::{NewEvent, Recorder}, k8s::api::apps::v1::Deployment};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example(client: Client, deployment: Deployment) {
//! let recorder = Recorder::new(&client, "example.com/scaler");
//! recorder.start(&CancellationToken::new());
//! recorder.event(&deployment, NewEvent::normal("Scaled", "Scale").note("from 2 to 3 pods"));
//! recorder.shutdown(Duration::from_secs(2)).await;
//! # }
//! ```
//!
//! Guarantees:
//!
//! * Recording never waits for the network, never fails and never panics.
//! * Events with the same type, reason, action, reporter and objects form one series: one Event with a
//!   count. The first repetition is written at once. The pause between further writes doubles each time,
//!   from 10 s to 30 min, because the server deletes an Event that is not written for an hour. When no
//!   event was added for 6 min, the last count is written, and the next event starts another series.
//! * A series keeps the newest note. Another note than the written one is written at once: 25 times for each
//!   object, and once more every 5 min. Beyond that it waits for the pause.
//! * If a user or the server deletes an Event, the recorder creates it again.
//! * A controller may start 25 series about one object at once, and one more every 5 min. Repeated events
//!   have no limit.
//! * At most eight requests run at once. A request that fails or hangs does not delay the others. A
//!   failed request is retried with growing pauses, 12 times at most. A request that the server refuses
//!   is not retried. Events in a namespace that is being deleted are not logged.
//! * At most 4096 series are remembered ([R14](crate#guarantees)). Series that the server knows completely are forgotten first. If
//!   there are none, the new event is dropped. The metric `pilothouse_events_dropped_total`
//!   counts each dropped event with its reason.
//! * [`Recorder::shutdown`] sends the unsent events within the given time.
//!
//! The recorder needs permissions ([`Recorder::access`]): `create` and `patch` for `events` of
//! `events.k8s.io`, and `patch` for `events` of the core group, because only core/v1 can change the note of
//! an Event. Without the latter, Events keep their first note.
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `new_event.rs` | [`NewEvent`] and [`EventType`] |
//! | `recorder.rs` | [`Recorder`]: records events, and the task that sends them |
//! | `correlator.rs` | which events form a series, and what to write when: a state machine without a clock |
//! | `series.rs` | one series: what happened, and what the server knows of it |
//! | `spam_limit.rs` | the limits of new series and of new notes for each object |
//! | `write.rs`, `send.rs` | one write as a value; as a request, and the meaning of its response |
//! | `target.rs`, `reporter.rs` | the object of an event; the controller and process that report it |
//! | `limits.rs` | the API's limits for the fields of an Event |

mod correlator;
mod limits;
mod new_event;
mod recorder;
mod reporter;
mod send;
mod series;
mod spam_limit;
mod target;
mod write;

#[cfg(test)]
mod tests;

pub use new_event::{EventType, NewEvent};
pub use recorder::Recorder;
