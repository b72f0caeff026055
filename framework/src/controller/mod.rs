//! Controllers: from "something changed" to `reconcile`.
//!
//! A [`Reconciler`] is what a user writes; its `wire` adds to a [`Controller`] which kinds it owns,
//! watches and reads. From that come the watches, the mapping from events to keys, and the order of
//! starting. A [`Context`] is what a reconcile works with: cached reads, `apply` and
//! `apply_detached`, other writes, `update_status`.
//!
//! ```text
//! informers → listeners (predicates, mappings) ─┐
//! channels, timers, streams ────────────────────┴→ WorkQueue → workers → reconcile → Context
//! ```
//!
//! What leads to a reconcile: changes of the reconciled kind, of kinds it owns or watches, a
//! [`Channel`] or [`Timer`] or any other stream, the wish of the last reconcile ([`Action`]), its
//! failure ([`Failure`]), and people, by [`annotations`]. [`Sources`] come and go while it works.
//! What nobody waits for (the first list, resyncs, intervals) or what may have happened long ago (all that a
//! later list finds changed, created or gone) has a low priority, what people ask for a high one; see
//! [`Priority`](crate::queue::Priority).
//!
//! What it guarantees, whatever fails or panics:
//!
//! * Two calls for one key never overlap.
//! * A change seen after a reconcile began leads to another one after it ended.
//! * The object is taken from the cache when the call starts. If it is gone by then, `deleted` is
//!   called, once, if the key had been reconciled.
//! * No reconcile before every wired kind has synced. A kind that is forbidden or not served
//!   holds back only the controllers that wire it; [`ControllerStatus`] says so.
//! * No reconcile of an object before the caches have what the last one wrote through its [`Context`],
//!   for at most 10 s; meanwhile it takes no worker.
//! * A failure is retried after `min(5 ms · 2ⁿ⁻¹, 300 s)` times a factor from 1 to 1.1, and after 1 s instead of 5 ms where a
//!   person has to change something (403, 422); a success resets n. What the API server asks for is a lower bound. The
//!   retries of one controller share a token bucket: 10 per second after a burst of 100. See
//!   [`Controller::rate_limiter`].
//! * Equal failures are logged once: then come a count after 10 s, 1 min and every 10 min, and a line when no object fails so
//!   any more. The level `debug` shows every one of them. [`ControllerStatus`] and `/readyz?verbose` tell how many objects
//!   fail, and why.
//! * A failure is shown on its object, by an Event and by the condition `Ready`: see
//!   [`Controller`](Controller#what-is-shown-on-the-objects).
//! * A finalizer is on the object before its first reconcile, and goes after a successful
//!   [`Cleanup`] and after the last detached child. No other finalizer is touched.
//! * A reconcile applies no child that is as this process, or one before it, applied it: a restart with nothing changed
//!   sends nothing. See [`Context::apply`].
//! * A [`Context`] sends nothing that `wire` does not declare: the error names the line to add.
//!   [`Controller::needs`] is all that was declared.
//! * A panic of a reconcile, a predicate, a mapping or a source is counted and spoils only itself.
//! * What is remembered of a key ends with its object. Sources of the user wait while more than 1024
//!   keys wait for a worker.
//!
//! ```no_run
//! use std::sync::Arc;
//! use pilothouse::controller::{Action, Context, Controller, Reconciler, Result};
//! use pilothouse::k8s::api::{apps::v1::Deployment, core::v1::ConfigMap};
//! use pilothouse::resource::Object;
//!
//! /// Keeps a note beside every Deployment.
//! struct Notes;
//!
//! impl Reconciler for Notes {
//!     type Resource = Deployment;
//!
//!     fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
//!         controller.owns::<ConfigMap>()
//!     }
//!
//!     async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result<Action> {
//!         let mut note = ConfigMap::default();
//!         note.metadata.name = Some(format!("{}-note", object.name()));
//!         cx.apply(note).await?;
//!         Ok(Action::wait())
//!     }
//! }
//! ```

mod access;
mod action;
mod adoption;
pub mod annotations;
mod applied;
mod apply;
mod apply_detached;
mod call;
mod cancellation;
mod causes;
mod change;
mod children;
mod cleanup;
mod context;
mod controller;
mod environment;
mod error;
mod event;
mod failure;
mod failure_log;
mod finalizers;
mod fingerprints;
mod generations;
mod hub;
mod key_states;
mod last_status;
mod late;
mod missing_rule;
#[cfg(feature = "dev")]
mod offline;
mod own_writes;
mod owner_map;
mod owner_mark;
mod pace;
mod paused;
mod predicate;
mod publish;
mod read_your_writes;
mod readers;
mod ready_condition;
mod reconciler;
mod report;
mod restart;
mod run;
mod settle;
mod sources;
mod start;
mod status;
mod uncached;
mod update_status;
mod verbs;
mod wanted;
mod wired;
mod write;

#[cfg(test)]
mod tests;

pub use access::AccessUse;
pub use action::Action;
pub use change::Change;
pub use cleanup::Cleanup;
pub use context::Context;
pub use controller::Controller;
pub use environment::Environment;
pub use error::Error;
pub use failure::{Failure, Result};
#[cfg(feature = "dev")]
pub use offline::{Offline, Sent};
pub use owner_mark::{OWNER_ANNOTATION, OWNER_UID_LABEL};
pub use predicate::Predicate;
pub use reconciler::Reconciler;
pub use report::{ControllerReport, FailureReport, KeyActivity, KeyReport};
pub use restart::APPLIED_ANNOTATION;
pub use sources::{Channel, ChannelStream, Closed, Lookup, Request, Source, Sources, Timer};
pub use status::ControllerStatus;
pub use uncached::Uncached;
pub use wired::{Role, Wired};

/// What [`Context::cancellation`] gives, from tokio-util.
pub use tokio_util::sync::CancellationToken;
