//! Informers: caches of what the API server has, kept up to date by watching it.
//!
//! ```text
//! ListerWatcher → Reflector → DeltaQueue (DeltaFifo) → Store → listeners
//!                                                        ↑
//!                                                     Listers
//! ```
//!
//! * A [`ListerWatcher`] is where the objects come from: an [`Api`](crate::client::Api), or
//!   something of a test.
//! * The [`Reflector`] lists and watches it, and survives whatever goes wrong on the way.
//! * The [`DeltaFifo`] keeps the steps in order and holds the reflector back when they are not
//!   taken out fast enough; the [`DeltaQueue`] waits at it.
//! * The [`Store`] holds each object once, in an `Arc` or as a [`Packing`] keeps it, with an index by
//!   namespace, one by owner, and each [`Index`] that was added. Any number of [`Lister`]s read it, and
//!   never wait.
//! * A [`SharedInformer`] is all of this in one task, with listeners that are told each
//!   [`Event`]; [`Informers`] hands them out and owns the tasks.
//!
//! What it guarantees:
//!
//! * The store is written before a listener hears of a change, and a listener hears of the states of
//!   an object in the server's order.
//! * Nothing is missed: after a broken watch, a 410, a list or a restart of the server each object's
//!   last state is delivered, deletions that happened meanwhile included. During a list changes are
//!   delivered page by page, deletions after the last one; an object that was deleted and
//!   created anew meanwhile is delivered as [`Event::Recreated`].
//! * An object whose resource version did not change keeps its `Arc`, and nobody hears of it.
//! * One object that does not decode spoils only itself: it keeps its place, and reading it is an
//!   error.
//! * A panic of a listener is counted and ends only that call; one that is slow is named.
//! * Who takes its time has an [`EventStream`], which the informer never waits for: it holds at most
//!   one event per object.
//! * Any number may wait for a [`Readiness`]: of an informer, of a listener, or of several together.
//!
//! ```no_run
//! use pilothouse::cache::{Event, InformerScope, Informers};
//! use pilothouse::client::{Client, Config};
//! use pilothouse::k8s::api::core::v1::ConfigMap;
//! use pilothouse::metrics::Metrics;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Config::infer().await?)?;
//! let informers = Informers::new(client, Metrics::new());
//! let settings = informers.informer::<ConfigMap>(InformerScope::all().namespace("default"));
//! settings.add_listener(|event: &Event<ConfigMap>| println!("{event:?}"));
//! informers.start(&CancellationToken::new());
//! if settings.synced().await {
//!     println!("{} in the cache", settings.lister().len());
//! }
//! informers.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! What it does not: intermediate states may be left out while the watch is interrupted, and a
//! cache is always a little behind the server.
//!
//! Against client-go, on purpose:
//!
//! * a [stream](EventStream) merges what was not taken yet, where client-go's buffer grows without
//!   bound;
//! * an object that was deleted and created anew unseen is [`Event::Recreated`], no update;
//! * pauses start over after success that held, not every two minutes, and each kind of failure has
//!   its own ([`Reflector`]);
//! * a watch that fell silent is replaced; client-go waits for its connection to fail
//!   ([`Reflector`]);
//! * a streamed list whose end is not marked is given up for pages; client-go waits for ever
//!   ([`Reflector`]);
//! * an object that does not decode spoils only itself ([`Event::Undecodable`]); client-go lists the
//!   kind anew, again and again;
//! * managed fields are left out while decoding, unless they are
//!   [asked for](crate::client::Api::with_managed_fields);
//! * the [client](crate::client) does not limit its own rate unless told to;
//! * a panic of a listener ends only that call ([`SharedInformer::add_listener`]); client-go ends the
//!   process;
//! * the removal of a listener ([`Subscription::remove`]) and the end of all
//!   ([`Informers::shutdown`]) can be awaited;
//! * deletions come last in a list, a broken stream goes on where it was, and there is no resync: who
//!   wants to look again uses a timer.

mod api;
mod backoff;
mod budget;
mod coalesced;
mod delta;
mod entry;
mod event;
mod event_stream;
mod fifo;
mod incoming;
mod index;
mod informer;
mod informers;
mod informers_builder;
mod listener;
mod listeners;
mod lister;
mod lister_watcher;
mod listing;
mod namespaces;
mod open_watch;
mod packed;
mod packing;
mod parts;
mod position;
mod processor;
mod progress;
mod published;
mod queue;
mod random;
mod readiness;
mod reflector;
mod remedy;
mod scope;
mod snapshot;
mod status;
mod store;
mod stream_list;
mod subscription;
mod sync;
mod transform;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod fake_errors;
#[cfg(test)]
mod fifo_test;
#[cfg(test)]
mod queue_test;
#[cfg(test)]
mod tests;

pub use budget::ListBudget;
pub use delta::Delta;
pub use entry::Entry;
use entry::NO_LABELS;
pub use event::Event;
pub use event_stream::EventStream;
pub use fifo::{Batch, DeltaFifo};
pub use index::{Index, IndexHandle};
pub use informer::SharedInformer;
pub use informers::Informers;
pub use informers_builder::InformersBuilder;
pub use lister::Lister;
pub use lister_watcher::ListerWatcher;
pub use listing::Listing;
pub use namespaces::{NamespaceSet, Namespaces};
pub use packed::Packed;
pub use packing::Packing;
pub use queue::DeltaQueue;
pub use readiness::Readiness;
pub use reflector::Reflector;
pub use scope::InformerScope;
pub use snapshot::Snapshot;
pub use status::{InformerMode, InformerStatus};
pub use store::Store;
pub use subscription::Subscription;
