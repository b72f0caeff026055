//! Every metric's name, help text, labels and buckets, in one place.
//!
//! A [`Metrics`] belongs to one operator; there is no global registry, so that two operators (or
//! two tests) in one process never share a series. The names of controller-runtime and client-go
//! are kept to the letter, so that dashboards and alerts made for them work unchanged; what they
//! do not have is named `pilothouse_…`.
//!
//! * `controller_runtime_…`: [`ControllerMetrics`], one set per controller.
//! * `stale_sync_skips_total` and `pilothouse_controller_stale_…`: [`ReadYourWritesMetrics`], one set per
//!   controller.
//! * `workqueue_…`: [`WorkQueueMetrics`], one set per queue.
//! * `rest_client_…`: [`ClientMetrics`], and [`ExecMetrics`] of its credential plugins. Of client-go's cache of
//!   transports there is only the number of entries: here every client has its own connections, so that an entry is
//!   neither looked up nor collected.
//! * `informer_…` and `pilothouse_informer_…`: [`InformerMetrics`], one set per kind, and
//!   [`ListenerMetrics`], one set per listener.
//! * `pilothouse_events_…`: [`EventMetrics`], one set.
//! * `certwatcher_…`: [`CertificateMetrics`], one set.
//! * `pilothouse_build_info`: [`Metrics::build_info`].
//! * `process_…` on Linux, read when somebody asks.
//!
//! Series exist, at zero, from the moment their owner is made: `rate()` and `absent()` are right
//! from the first scrape. Those of informers and listeners end with the last informer of their kind and the
//! last listener of their name. Labels never hold names of objects, so the number of series is bounded
//! by the number of controllers, kinds and status codes.
//!
//! ```
//! use pilothouse::metrics::Metrics;
//!
//! let metrics = Metrics::new();
//! metrics.controller("website").panics.inc();
//! assert!(metrics.encode().contains("controller_runtime_reconcile_panics_total{controller=\"website\"} 1"));
//! ```

mod buckets;
mod build;
mod certificate;
mod client;
mod controller;
mod election;
mod events;
mod exec;
mod histogram;
mod informer;
mod last_heard;
mod listener;
mod metrics;
mod process;
mod read_your_writes;
mod requeues;
mod share;
mod tasks;
mod text;
mod uses;
mod workqueue;

pub use certificate::CertificateMetrics;
pub use client::{CaReload, ClientMetrics};
pub use controller::ControllerMetrics;
pub use election::ElectionMetrics;
pub use events::EventMetrics;
pub use exec::{ExecMetrics, ExecOutcome};
pub use histogram::Histogram;
pub use informer::{InformerMetrics, WatchEventMetrics};
pub use last_heard::LastHeard;
pub use listener::ListenerMetrics;
pub use metrics::Metrics;
pub use read_your_writes::ReadYourWritesMetrics;
pub use requeues::RequeueMetrics;
pub use share::Share;
pub use text::TEXT_FORMAT;
pub use uses::Use;
pub use workqueue::{LiveQueue, LiveState, WorkQueueMetrics};

/// The crate whose registry and metric types are used; for metrics of your own.
pub use prometheus;
