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
//! * The [`Reflector`] lists and watches it, and survives whatever goes wrong on the way. A list is
//!   streamed where the server can do it and read in pages where not; each kind of failure has its
//!   own pauses; lists stand in line for a [`ListBudget`].
//! * The [`DeltaFifo`] keeps the steps in order and holds the reflector back when they are not
//!   taken out fast enough; the [`DeltaQueue`] waits at it.
//! * The [`Store`] holds each object once, with an index by namespace, one by owner, and each
//!   [`Index`] that was added. Any number of [`Lister`]s read it, and never wait.
//! * A [`SharedInformer`] is all of this in one task, with listeners that are told each [`Event`];
//!   [`Informers`] hands them out and owns the tasks. An informer of several namespaces has a
//!   reflector and a queue for each, and one store.
//!
//! # What is kept
//! Informers differ by kind, by [`InformerScope`] and by the Rust type that objects are read as;
//! who asks for the same gets the same.
//!
//! * **Which objects**: label and field selectors, and [`Namespaces`]: all,
//!   [some](InformerScope::namespaces), or a [`NamespaceSet`] that caches
//!   [follow](InformerScope::following) while it changes.
//! * **What of them**: whole objects, typed or [dynamic](Informers::dynamic); a view, which is a
//!   struct with the fields that are wanted, `#[resource(view_of = Pod)]`; or
//!   [metadata](Informers::metadata) alone, of which the server sends nothing else. A
//!   [transform](InformersBuilder::transform) shapes each object before it is stored.
//! * **In which form**: in an `Arc`, as they were decoded, or as a
//!   [`Packing`](InformersBuilder::packing) says.
//!
//! # How it is read
//! * A [`Lister`] gives the present state: by name, namespace, owner, label
//!   [selector](Lister::select), or [index](Lister::by). An [`Index`] is asked with the
//!   [`IndexHandle`] that [`SharedInformer::add_index`] gave; its type is that of the values, and
//!   an index that was not added cannot be named. What must fit together is read from one
//!   [`Snapshot`].
//! * A [listener](SharedInformer::add_listener) is a function that the informer calls, and waits
//!   for.
//! * Who takes its time has an [`EventStream`], which the informer never waits for: it holds at
//!   most one event per object.
//! * Any number may wait for a [`Readiness`]: of an informer, of a listener or stream, or of
//!   several [together](Readiness::all).
//!
//! # What it guarantees
//! * The store is written before a listener hears of a change, and a listener hears of the states
//!   of an object in the server's order.
//! * Nothing is missed: after a broken watch, a 410, a list or a restart of the server each
//!   object's last state is delivered, deletions that happened meanwhile included. During a list
//!   changes are delivered as they come, deletions after its end; an object that was deleted and
//!   created anew meanwhile is delivered as [`Event::Recreated`].
//! * An object whose resource version did not change keeps its `Arc`, and nobody hears of it. After the server's versions
//!   went backwards, as after a restore from a backup, the next list replaces all objects.
//! * One object that does not decode, or whose transform fails, spoils only itself: it keeps its
//!   place, reading it is an error, and [`SharedInformer::undecodable`] lists it with the reason.
//! * A panic of a listener is counted and ends only that call; one that is slow is named.
//! * A kind that is forbidden or not served holds back only itself, and
//!   [`InformerStatus::last_error`] says what would mend it: the rule that is missing, for whom and
//!   where, or what is to be installed. Where only the watch is forbidden, lists keep the cache
//!   fresh.
//! * What ends can be awaited: a listener ([`Subscription::remove`]), an informer
//!   ([`Informers::remove`], or its last [claim](Informers::claim)), or all of them, for a bounded time ([`Informers::shutdown_within`]).
//!   What holds a shutdown up is named.
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
//! if !informers.shutdown().await {
//!     println!("a listener has not returned");
//! }
//! # Ok(()) }
//! ```
//!
//! # What it does not
//! Intermediate states may be left out while the watch is interrupted, and a cache is always a little
//! behind the server. Nothing is told again without a change, unless to a listener that asks for a
//! [resync](ListenerOptions::resync).
//!
//! # Against client-go, on purpose
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
//! * deletions come last in a list, and a broken stream goes on where it was;
//! * a [resync](Event::Resync) is an event of its own, told object by object over its whole period;
//!   client-go tells updates without a change, all at once.

mod api;
mod backoff;
mod budget;
mod coalesced;
mod delta;
mod entry;
mod event;
mod event_stream;
mod fifo;
mod follower;
mod incoming;
mod index;
mod informer;
mod informer_claim;
mod informers;
mod informers_builder;
mod kind_options;
mod listener;
mod listener_options;
mod listeners;
mod lister;
mod lister_watcher;
mod listing;
mod namespaces;
mod open_watch;
mod origin;
mod owners;
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
mod reopening;
mod resync;
mod scope;
mod sizes;
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
mod readiness_test;
#[cfg(test)]
mod store_test;
#[cfg(test)]
mod tests;

pub use budget::ListBudget;
pub use delta::Delta;
pub use entry::Entry;
use entry::NO_LABELS;
pub use event::Event;
pub use event_stream::EventStream;
pub use fifo::{Batch, DeltaFifo};
pub(crate) use follower::{Follow, Reached};
pub use index::{Index, IndexHandle};
pub use informer::SharedInformer;
pub use informer_claim::InformerClaim;
pub use informers::Informers;
pub use informers_builder::InformersBuilder;
pub use listener_options::ListenerOptions;
pub use lister::Lister;
pub use lister_watcher::ListerWatcher;
pub use listing::Listing;
pub use namespaces::{NamespaceSet, Namespaces};
pub(crate) use origin::Origin;
pub use packed::Packed;
pub use packing::Packing;
pub use queue::DeltaQueue;
pub use readiness::Readiness;
pub use reflector::Reflector;
pub(crate) use scope::Field;
pub use scope::InformerScope;
pub use snapshot::Snapshot;
pub use status::{InformerMode, InformerStatus, PartStatus};
pub use store::Store;
pub use subscription::Subscription;
