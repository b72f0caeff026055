//! A Kubernetes API server in one process, for development and tests.
//!
//! [`Sandbox`] is reached over HTTPS on loopback, by kubectl for one, or in memory, by a client on the same runtime; there its time
//! is tokio's, so a paused clock stops the server too. It keeps its objects in memory and follows the rules of a real API server:
//! resource versions, watches, optimistic concurrency, server-side apply, finalizers, CustomResourceDefinitions. What it does not
//! cover is answered 501 with the name of what is missing, never by an approximation.
//!
//! It runs no admission plug-ins but the life cycle of namespaces, no authorisation (everybody who has a token may do everything) and
//! no controllers but those that belong to the API itself.
//!
//! ```
//! # use pilothouse_sandbox::{Answer, RequestMatcher, Sandbox};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sandbox = Sandbox::builder().seed(1).build()?;
//! let pipe = sandbox.connect(); // for an HTTP/1.1 or HTTP/2 client
//! sandbox.faults().answer(RequestMatcher::any().verb("list"), Answer::status(503, "ServiceUnavailable"), 1);
//! # drop(pipe);
//! sandbox.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod api;
pub mod apply;
mod auth;
mod authorization;
mod builder;
pub mod builtin;
mod clock;
mod core;
mod definitions;
mod depth;
pub mod discovery;
mod fault;
mod feed;
mod garbage;
mod go;
mod json;
mod namespaces;
pub mod openapi;
pub mod patch;
mod pods;
mod record;
pub mod registry;
mod sandbox;
pub mod schema;
mod server;
mod simulator;
mod stack;
mod store;
pub mod table;

pub use builder::{BuildError, Builder};
pub use fault::{Answer, Faults, RequestMatcher};
pub use pods::{Invocation, Pods};
pub use record::RecordedRequest;
pub use sandbox::Sandbox;
pub use server::HttpsServer;
