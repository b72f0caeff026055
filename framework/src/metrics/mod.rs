//! All metrics of an operator: their names, help texts, labels and buckets are defined here.
//!
//! A [`Metrics`] value belongs to one operator. There is no global registry, so two operators (or two
//! tests) in one process never share a series. Metrics that controller-runtime and client-go also have
//! keep exactly the same names, so that existing dashboards and alerts work unchanged. All other names
//! start with `pilothouse_`.
//!
//! | metrics | struct | series |
//! | --- | --- | --- |
//! | `controller_runtime_…` | `ControllerMetrics` | one set for each controller |
//! | `controller_runtime_webhook_…`, `pilothouse_webhook_…` | `WebhookMetrics` | one set for each webhook |
//! | `stale_sync_skips_total`, `pilothouse_controller_stale_…` | `ReadYourWritesMetrics` | one set for each controller |
//! | `workqueue_…` | `WorkQueueMetrics` | one set for each queue |
//! | `rest_client_…` | [`ClientMetrics`], [`ExecMetrics`] for credential plugins | shared by all clients |
//! | `informer_…`, `pilothouse_informer_…` | [`InformerMetrics`] | one set for each kind |
//! | `pilothouse_informer_listener_…` | [`ListenerMetrics`] | one set for each listener |
//! | `leader_election_…` | `ElectionMetrics` | one set for each Lease |
//! | `pilothouse_events_…` | `EventMetrics` | one set |
//! | `certwatcher_…` | `CertificateMetrics` | one set |
//! | `operator_task_panics_total`, `pilothouse_build_info` | in `operator.rs` | one set |
//! | `process_…` | in `process.rs`, on Linux only | read from `/proc` at each scrape |
//!
//! client-go caches transports and counts the entries, the look-ups and the evictions. Here every
//! client has its own connections, so only the number of entries has a counterpart.
//!
//! Each series exists with the value zero as soon as its owner exists, so `rate()` and `absent()` are
//! correct from the first scrape. The series of informers and listeners are removed with the last
//! informer of their kind and the last listener of their name. Labels never hold names of objects, so
//! the numbers of controllers, kinds and status codes bound the number of series ([R14](crate#guarantees)).
//!
//! Programs and tests read a value with [`Metrics::value`]. Of the structs only those are public that public
//! layers and informers take.
//!
//! [`Metrics`] is in `metrics.rs`; `registered.rs` adds metrics of a program's own; `families.rs` registers a metric; `histogram.rs` and `gauge_share.rs`
//! are a histogram for many threads and a gauge with several owners; `series_use.rs` removes series
//! after their last use; `text.rs` writes Prometheus' text format; `buckets.rs` has all bucket bounds.
//!
//! ```
//! use pilothouse::metrics::{Metrics, prometheus::IntCounter};
//!
//! let metrics = Metrics::new();
//! let visits = IntCounter::new("website_visits_total", "Visits of all websites.")?;
//! let visits = metrics.register(visits)?;
//! visits.inc();
//! assert_eq!(metrics.value("website_visits_total", &[]), Some(1.0));
//! assert!(metrics.encode().contains("website_visits_total 1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buckets;
mod certificate;
mod client;
mod controller;
mod election;
mod events;
mod exec;
mod families;
mod gauge_share;
mod histogram;
mod informer;
mod last_event;
mod listener;
mod metrics;
mod operator;
mod process;
mod read_your_writes;
mod registered;
mod series_use;
mod text;
mod webhook;
mod workqueue;

pub(crate) use certificate::CertificateMetrics;
pub use client::{CaReload, ClientMetrics};
pub(crate) use controller::ControllerMetrics;
pub(crate) use election::ElectionMetrics;
pub(crate) use events::EventMetrics;
pub use exec::{ExecMetrics, ExecOutcome};
pub(crate) use gauge_share::GaugeShare;
pub(crate) use histogram::Histogram;
pub use informer::{InformerMetrics, WatchEventMetrics};
pub(crate) use last_event::LastEvent;
pub use listener::ListenerMetrics;
pub use metrics::Metrics;
pub(crate) use read_your_writes::ReadYourWritesMetrics;
pub use registered::MetricError;
pub(crate) use series_use::SeriesUse;
pub use text::TEXT_FORMAT;
pub(crate) use webhook::WebhookMetrics;
pub(crate) use workqueue::WorkQueueMetrics;
pub(crate) use workqueue::{QueueSample, SampledQueue};

/// The crate of the registry and the metric types, for metrics of your own.
pub use prometheus;
