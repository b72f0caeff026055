//! Operators under test: a cluster in the process, on a clock that the test holds.
//!
//! [`Cluster`] is an API server in memory (crate `pilothouse-sandbox`) and a whole
//! [`Client`](crate::client::Client) connected to it, HTTP/2 included, on the test's own runtime. With tokio's
//! clock paused, time passes exactly when nothing else is to be done: a test that waits for a backoff of five
//! minutes takes milliseconds, and it takes the same course each time.
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
//! * [`Cluster::until`] and its like wait for a condition; one that does not come is an error which says what
//!   was waited for and what was seen last.
//! * [`Cluster::faults`] drops and delays watches, forgets history, answers errors and loses answers.
//! * [`Offline`] tries a reconciler without any server: objects in, writes out.
//! * [`Running::unused_access`](crate::operator::Running::unused_access) tells which declared needs a suite never used.
//! * [`Cluster::requests`] tells what was asked of the server.

mod cluster;
mod late;

pub use cluster::Cluster;
pub use late::Late;

pub use crate::controller::{Offline, Sent};
pub use pilothouse_sandbox::{Answer, Builder, Faults, RecordedRequest, RequestMatcher, Sandbox};
