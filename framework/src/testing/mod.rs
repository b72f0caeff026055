//! Tests of operators: an API server in the test's process, with tokio's paused clock.
//!
//! [`Cluster`] is an API server in memory (crate `pilothouse-sandbox`) and a real [`Client`](crate::client::Client) that is
//! connected to it, HTTP/2 included, on the test's own runtime. With tokio's paused clock, time advances only when every
//! task waits: a test that waits for a backoff of five minutes takes milliseconds, and takes the same steps each time.
//!
//! ```
//! use pilothouse::{k8s::api::core::v1::ConfigMap, resource::Object, testing::Cluster};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = Cluster::start()?;
//! cluster.create(&ConfigMap::named("page")).await?;
//! let page = cluster.until("page", "exist", |_: &ConfigMap| true).await?;
//! assert_eq!(page.namespace(), Some("default"));
//! # Ok(()) }
//! ```
//!
//! * [`Cluster::run`] installs an operator's kinds, starts it, and waits until it is ready.
//! * [`Cluster::until`] and similar methods wait for a condition. If it does not hold in time, the error says what was awaited
//!   and what was seen last.
//! * [`Cluster::faults`] drops and delays watches, forgets history, answers errors and loses answers.
//! * [`Cluster::pods`] lets Pods fail, crash again and again, never become ready, or lose their node.
//! * [`Offline`] runs a reconciler without any server: objects in, writes out.
//! * [`OfflineAdmission`] runs webhooks, admission rules and the schema on an object.
//! * [`admission_rule`] checks the expressions of an admission rule.
//! * [`definition`] checks the definition of a kind: its schema, its rules with their cost, and its size.
//! * [`round_trips`] checks that the conversions between the versions of a kind lose nothing.
//! * [`Running::unused_access`](crate::operator::Running::unused_access) lists the declared needs that a test suite never used.
//! * [`Cluster::requests`] lists the requests that the server answered.
//!
//! # Map for contributors
//! | file | what it holds |
//! | --- | --- |
//! | `cluster.rs` | [`Cluster`], and [`TimedOut`]: a condition did not hold in time |
//! | `admission.rs`, `ruled.rs` | [`OfflineAdmission`]; what the API server does to an object |
//! | `admission_rule.rs` | [`admission_rule`] and [`RefusedRule`] |
//! | `definition.rs` | [`definition`], [`DefinitionCheck`] and [`RefusedDefinition`] |
//! | `offline` | [`Offline`] and [`Sent`] |
//! | `round_trips` | [`round_trips`], [`RoundTrips`] and [`BrokenRoundTrip`] |

mod admission;
mod admission_rule;
mod cluster;
mod definition;
#[cfg(test)]
mod not_ready_test;
mod offline;
#[cfg(test)]
mod own_kind_test;
mod round_trips;
mod ruled;
#[cfg(test)]
mod ruled_test;

pub use admission::OfflineAdmission;
pub use admission_rule::{RefusedRule, admission_rule};
pub use cluster::{Cluster, TimedOut};
pub use definition::{DefinitionCheck, RefusedDefinition, definition};
pub use offline::{Offline, Sent};
pub use round_trips::{BrokenRoundTrip, RoundTrips, round_trips};

pub use pilothouse_sandbox::{
    Answer, Builder, Faults, PodRule, Pods, RecordedRequest, RequestMatcher, Sandbox,
};
