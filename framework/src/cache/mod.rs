//! Informers: caches of the objects that the API server has, kept up to date by watching it. Follows client-go's
//! `tools/cache`.
//!
//! ```text
//! ListerWatcher → Reflector → DeltaQueue (RealFifo) → Store → listeners
//!                                                        ↑
//!                                                     Listers
//! ```
//!
//! * A [`ListerWatcher`] is the source of the objects: an [`Api`](crate::client::Api), or a source of the user.
//! * The [`Reflector`] lists and watches the source and recovers from every failure. It streams lists if the server
//!   can, and reads them in pages otherwise. Each kind of failure has its own backoff. A [`ListBudget`] limits how
//!   many lists run at the same time.
//! * The [`RealFifo`] keeps the changes in order, and makes the reflector wait while it is full. The [`DeltaQueue`]
//!   is what the tasks wait on. [`InformersBuilder::delta_fifo`] gathers the changes of each object, as a
//!   [`DeltaFifo`] does.
//! * The [`Store`] holds each object once, with an index by namespace, an index by owner, and each [`Index`] that the
//!   user added. Any number of [`Lister`]s read it, and they never wait.
//! * A [`SharedInformer`] is all of this in one task, with listeners that receive each [`Event`]. [`Informers`] hands
//!   out informers and owns their tasks. An informer of several namespaces has a reflector and a queue for each of
//!   them, and one store.
//!
//! # What a cache holds
//! Informers differ by kind, by [`InformerScope`] and by the Rust type that the objects are read as. Callers that ask
//! for the same three get the same informer.
//!
//! * **Which objects**: label and field selectors, and [`Namespaces`]: all namespaces,
//!   [some](InformerScope::namespaces), or a [`NamespaceSet`], which caches [follow](InformerScope::following) while
//!   it changes. A [shard](InformerScope::shard) is a part of the objects that the server chooses by a hash. The scope
//!   also has the sizes and times of the requests; [`InformersBuilder::tweak`] sets them for a kind.
//! * **Which part of them**: whole objects, typed or [dynamic](Informers::dynamic); a view, which is a struct with
//!   only some fields, `#[resource(view_of = Pod)]`; or only the [metadata](Informers::metadata), in which case the
//!   server sends nothing else, or nothing at all if another informer reads the whole objects. A [transform](InformersBuilder::transform) changes each object before it is stored.
//! * **In which form**: as the API server sent them, without the managed fields. An object is decoded when it is read, and
//!   [some](InformersBuilder::decoded_share) stay decoded. An object of at most 1 KiB, or 512 bytes in protobuf, stays decoded once it was
//!   read. If a controller or an index reads each object of the kind, it is decoded when it arrives. Views, objects that a transform has changed, and those of another
//!   source are stored decoded, in an `Arc`. With the feature `zstd` the encoded objects may be compressed. A [`Packing`](InformersBuilder::packing) stores objects in a form of its own.
//!
//! # How to read a cache
//! * A [`Lister`] reads the present state: by name, namespace, owner, label [selector](Lister::select), or
//!   [index](Lister::by). To query an [`Index`], the caller needs the [`IndexHandle`] that
//!   [`SharedInformer::add_index`] returned. The handle has the type of the values, so that a program cannot query an
//!   index that it did not add. [`Lister::values`] lists the values themselves. Reads that must be consistent with each
//!   other use one [`Snapshot`].
//! * A [listener](SharedInformer::add_listener) is a function that the informer calls. The informer waits until it
//!   returns.
//! * A slow consumer reads an [`EventStream`]. The informer never waits for the stream, which holds at most one event
//!   for each object.
//! * Any number of tasks can wait for the [`Readiness`] of an informer, of a listener or stream, or of several
//!   [together](Readiness::all).
//!
//! # What a cache guarantees
//! * The store is written before a listener receives the change. A listener receives the states of an object in the
//!   server's order.
//! * The last state of each object is never missed. After a broken watch, a 410, a list or a restart of the server,
//!   each object's last state is delivered, and so are the deletions that happened meanwhile. During a list, changes
//!   are delivered as they arrive and deletions after the end of the list. An object that was deleted and created
//!   again meanwhile is delivered as [`Event::Recreated`].
//! * An object whose resource version did not change keeps its `Arc`, and listeners receive nothing. After the
//!   server's resource versions went backwards, for example after a restore from a backup, the next list replaces all
//!   objects.
//! * An object that does not decode, or whose transform fails, affects no other object. It keeps its place, reading
//!   it returns an error, and from then on [`SharedInformer::undecodable`] lists it with the reason.
//! * A panic of a listener is counted and ends only that call. A slow listener is logged by name.
//! * A kind that is forbidden or not served affects no other kind. [`InformerStatus::last_error`] says what to do:
//!   which RBAC rule is missing for which user in which namespace, or what to install.
//!   [`SharedInformer::on_failure`] calls a function with each failure. If only the watch is
//!   forbidden, lists keep the cache fresh.
//! * Each end can be awaited: of a listener ([`Subscription::remove`]), of an informer ([`Informers::remove`], or its
//!   last [guard](Informers::acquire)), or of all informers, for a bounded time ([`Informers::shutdown_within`]). The
//!   listener that delays a shutdown is logged by name.
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
//! # What a cache does not guarantee
//! Intermediate states may be missing after the watch was interrupted, and a cache is always a little behind the
//! server. An unchanged object is delivered again only to a listener that requests a
//! [resync](ListenerOptions::resync).
//!
//! # Deliberate differences from client-go
//! * A [stream](EventStream) merges the events that wait; client-go's buffer grows without bound.
//! * An object that was deleted and created again unseen is [`Event::Recreated`] and not an update.
//! * A backoff starts over after requests have worked for a while, and each kind of failure has its own
//!   ([`Reflector`]). client-go starts over every two minutes.
//! * A silent watch is replaced ([`Reflector`]); client-go waits until its connection fails.
//! * If the server does not mark the end of a streamed list, the list is read in pages ([`Reflector`]); client-go
//!   waits forever.
//! * An object that does not decode affects no other object ([`Entry::object`]); client-go lists the kind again and
//!   again.
//! * Managed fields are skipped while decoding, unless the user [requests
//!   them](crate::client::Api::with_managed_fields).
//! * The [client](crate::client) does not limit its own rate by default.
//! * A panic of a listener ends only that call ([`SharedInformer::add_listener`]); client-go ends the process.
//! * The removal of a listener ([`Subscription::remove`]) and the end of all informers ([`Informers::shutdown`]) can
//!   be awaited.
//! * In a list, deletions come last, and a broken stream continues where it was.
//! * A [resync](Event::Resync) is an event of its own, and the objects come one by one over the whole period;
//!   client-go sends updates without a change, all at once.
//!
//! # Map for contributors
//! Each submodule uses only those above it in this table (`tests/tests/layers.rs` checks it).
//!
//! | module | what it contains |
//! | --- | --- |
//! | `sync`, `resource_version` | the locks that the loom models replace, the comparison of resource versions |
//! | `scope` | [`InformerScope`] and [`Namespaces`]: which objects a cache holds |
//! | `entry` | [`Entry`] and [`Packing`]: what a store holds for one key, and what events hand out |
//! | `index` | [`Index`] and [`IndexHandle`] |
//! | `store` | [`Store`], [`Snapshot`] and [`Lister`] |
//! | `event` | [`Event`]: what listeners receive |
//! | `fifo` | [`Delta`], [`RealFifo`], [`DeltaFifo`] and [`DeltaQueue`]: what lies between a reflector and its store |
//! | `readiness` | [`Readiness`]: waiting until caches are ready |
//! | `status` | [`InformerStatus`], logs and metrics |
//! | `reflector` | [`Reflector`], [`ListerWatcher`] and [`ListBudget`] |
//! | `listener` | listeners, [`EventStream`] and [`Subscription`] |
//! | `source` | where the informers read: the API server, or the informer of the whole objects |
//! | `informer` | [`SharedInformer`] and its task |
//! | `informers` | [`Informers`]: one informer for each kind, scope and type |

mod entry;
mod event;
mod fifo;
mod index;
mod informer;
mod informers;
mod listener;
mod readiness;
mod reflector;
mod resource_version;
mod scope;
mod source;
mod status;
mod store;
mod sync;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod readiness_test;
#[cfg(test)]
mod tests;

pub use entry::{Entry, Packed, Packing};
pub use event::Event;
pub(crate) use event::EventOrigin;
pub use fifo::{
    Batch, Delta, DeltaFifo, DeltaKind, DeltaQueue, Deltas, KnownObjects, ObjectDelta, RealFifo,
};
pub use index::{Index, IndexHandle};
pub use informer::SharedInformer;
pub use informers::{InformerGuard, Informers, InformersBuilder};
pub(crate) use listener::{BatchInfo, CacheObserver};
pub use listener::{EventStream, ListenerOptions, Subscription};
pub use readiness::Readiness;
pub use reflector::{ListBudget, ListerWatcher, Reflector};
pub(crate) use scope::Field;
pub use scope::{InformerScope, NamespaceSet, Namespaces};
pub use status::{InformerFailure, InformerMode, InformerStatus, NamespaceStatus};
pub(crate) use status::{ReportLimit, error_hint, joined};
pub use store::{Lister, Listing, Snapshot, Store, ValueListing};
pub(crate) use store::{Overlay, UndecodableRead};
