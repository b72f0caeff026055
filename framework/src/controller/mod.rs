//! Controllers: from a change of an object to `reconcile`.
//!
//! A [`Reconciler`] is the user's code. Its `wire` declares to a [`Controller`] which kinds it owns, watches and reads. From
//! this follow the watches, the mapping from events to keys, and the order of the start. A [`Context`] is what a reconcile
//! works with: cached reads, `apply` and other writes, `update_status`.
//!
//! ```text
//! informers → listeners (predicates, mappings) ─┐
//! channels, timers, streams ────────────────────┴→ WorkQueue → workers → reconcile → Context
//! ```
//!
//! A reconcile is caused by changes of the reconciled kind and of kinds that it owns or watches; by a [`Channel`], a
//! [`Timer`] or any other stream; by a change outside of the cluster that a [`Poll`] notices; by the last reconcile ([`Action`]) or its failure ([`Failure`]); and by people
//! ([`annotations`]). [`Sources`] can be added and removed while the controller runs. The first list, resyncs and intervals
//! have a low priority, because no change or person waits for them. So have all changes of a later list, because they may be old. Requests
//! of people have a high priority. See [`Priority`](crate::queue::Priority).
//!
//! The reconciled kind may be known only at run time: see [`Controller::dynamic`].
//!
//! Guarantees, whatever fails or panics:
//!
//! * Two calls for one key never overlap ([R1](crate#guarantees)).
//! * A change that is seen after a reconcile began leads to another reconcile after it ended ([R2](crate#guarantees)).
//! * The object is taken from the cache when the call starts. If it is gone by then, `deleted` is called, once, if the key
//!   had been reconciled ([R3](crate#guarantees)).
//! * No reconcile starts before every wired kind has synced. A kind that is forbidden or not served holds back only the
//!   controllers that wire it; [`ControllerStatus`] shows it ([R4](crate#guarantees)).
//! * No reconcile of an object starts before the caches have what the last one wrote through its [`Context`], for at most
//!   10 s. Waiting takes no worker ([R5](crate#guarantees)).
//! * A failure is retried after `min(5 ms · 2ⁿ⁻¹, 300 s)` times a factor from 1 to 1.1. The first delay is 1 s instead of
//!   5 ms if a person has to change something (403, 422). A success resets n. The delay is never shorter than what the API
//!   server asks for. The retries of one controller share a token bucket: 10 per second after a burst of 100. See
//!   [`Controller::rate_limiter`] ([R9](crate#guarantees)).
//! * Equal failures are logged once, then as a count after 10 s, after 1 min and every 10 min, then as a line when no object
//!   fails in this way any more. The level `debug` shows each failure. [`ControllerStatus`] and `/readyz?verbose` show how
//!   many objects fail, and why.
//! * A failure is shown on its object, by an Event and by the condition `Ready`: see
//!   [`Controller`](Controller#what-is-shown-on-the-objects).
//! * A finalizer is on each object that needs it before its first reconcile. It is removed after a successful [`Cleanup`] and
//!   after the last detached child is gone. Other finalizers are not touched. See
//!   [`finalizer_when`](Controller::finalizer_when) and [`finalizer_retired`](Controller::finalizer_retired).
//! * A reconcile sends no apply for a child that is as this process, or one before it, applied it: a restart with nothing
//!   changed sends nothing. See [`Context::apply`].
//! * An object that exists and does not belong to the reconciled object is neither changed by an apply nor pruned nor
//!   deleted by a cleanup. See [`Child::adopting`].
//! * Nothing is pruned after a reconcile that read an object that does not decode ([R8](crate#guarantees)).
//! * A [`Context`] sends no request that `wire` does not declare: the error names the line to add. [`Controller::needs`]
//!   lists everything that was declared.
//! * A panic of a reconcile, a predicate, a mapping or a source is counted and affects only its own key or source ([R10](crate#guarantees)).
//! * The controller forgets an object that is gone. Sources of the user wait while 1024 keys or more wait for a worker ([R14](crate#guarantees)).
//!
//! ```no_run
//! use std::sync::Arc;
//! use pilothouse::controller::{Action, Context, Controller, Reconciler, Result};
//! use pilothouse::k8s::api::{apps::v1::Deployment, core::v1::ConfigMap};
//! use pilothouse::resource::Object;
//!
//! /// Keeps a note for every Deployment.
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
//!
//! # Map for contributors
//! The page of `worker` shows the loop: start → take a key → invoke → finalizers → reconcile → outcome. The folders, lowest
//! first; each uses only those before it:
//!
//! | folder or file | what it holds |
//! | --- | --- |
//! | `reconcilable.rs` | [`Reconcilable`]: the types of reconciled objects; [`RuntimeKind`]: those of kinds known only at run time |
//! | `action.rs` | [`Action`]: what a successful reconcile asks for |
//! | `error` | [`Error`] and [`Failure`]: why something failed, and when it is retried |
//! | `cause.rs` | why a key is in the queue |
//! | [`annotations`] | the annotations by which people control a controller |
//! | `caches` | [`Lookup`]: the caches of the wired kinds, and their indexes |
//! | `predicate` | [`Change`] and [`Predicate`]: which changes lead to a reconcile |
//! | `finalizer_rules.rs` | which finalizers an object needs |
//! | `owners` | from a child to its owner, by references or by the mark of a detached child |
//! | `applied_fields` | how a new process knows that a child is as it was applied |
//! | `wired.rs`, `environment.rs` | [`Wired`]: a declared kind; [`Environment`]: what a controller runs in |
//! | `read_your_writes` | keeps a key back until the caches have what its last call wrote ([R5](crate#guarantees)) |
//! | `history` | what happened to each object, for the debug page: [`ReconcileReport`] |
//! | `state` | what a running controller remembers: queue, keys, caches, failures |
//! | `status` | [`ControllerStatus`] and [`ControllerReport`]: how a controller is doing |
//! | `sources` | [`Owned`], [`Watched`], [`Read`], [`Channel`], [`Timer`], [`Poll`]: what adds keys to the queue |
//! | `context` | [`Context`]: what the user's code works with |
//! | `children` | detached and pruned children, which the controller itself deletes |
//! | `finalizers` | adds the finalizers, and removes each after its cleanup or when it is not needed any more |
//! | `builder` | [`Controller`], [`Reconciler`], [`Cleanup`]: what the user declares and writes |
//! | `worker` | the loop itself |

mod action;
pub mod annotations;
mod applied_fields;
mod builder;
mod caches;
mod cause;
mod children;
mod context;
mod environment;
mod error;
mod finalizer_rules;
mod finalizers;
mod history;
mod owners;
mod predicate;
mod read_your_writes;
mod reconcilable;
mod sources;
mod state;
mod status;
mod wired;
mod worker;

#[cfg(test)]
mod tests;

pub use action::Action;
pub use applied_fields::APPLIED_ANNOTATION;
pub(crate) use builder::WrittenKinds;
pub use builder::{AccessUse, Cleanup, Controller, Reconciler};
pub use caches::{IndexFunction, Lookup};
pub use context::{Child, Context, Uncached};
pub use environment::Environment;
pub use error::{Error, Failure, Result};
pub use history::{CauseReport, ReconcileReport, WriteReport};
pub use owners::{OWNER_ANNOTATION, OWNER_UID_LABEL};
pub use predicate::{Change, Predicate};
pub use reconcilable::{Reconcilable, RuntimeKind};
pub use sources::{
    Channel, ChannelStream, Closed, Detached, Dynamic, KindSource, Mapping, Owned, Poll, Pruned,
    Read, Request, RuntimeSource, Source, Sources, Timer, TrySendError, Typed, Watched,
};
pub use status::{
    ChildReport, ControllerReport, ControllerStatus, FailureReport, KeyActivity, KeyReport,
    ObjectReport,
};
pub use wired::{Role, Wired};

#[cfg(feature = "dev")]
pub(crate) use {
    context::SharedContext,
    finalizers::Finalizers,
    sources::FixedCache,
    state::{BlockingWork, ControllerState},
    worker::{Invoker, Outcome, UserCode, publish},
};

/// The type that [`Context::cancellation`] returns, from tokio-util.
pub use tokio_util::sync::CancellationToken;
