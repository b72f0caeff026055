//! Calls from the server to webhooks.
//!
//! [`Calls::post`] sends a review to the place that a `clientConfig` names, as kube-apiserver does: HTTPS with HTTP/1.1, the certificate verified by the
//! `caBundle`, a time limit on tokio's clock, no redirects, and the texts of Go's HTTP client for what goes wrong. Pods of the sandbox have no network,
//! so the address of a Service comes from the test or from its EndpointSlices. A handler in Rust can stand for a URL or a Service; then nothing leaves the process.
//!
//! Each call opens a connection of its own.
//!
//! | file | what it does |
//! | --- | --- |
//! | `calls.rs` | [`Calls`]: handlers, addresses of Services, one call |
//! | `destination.rs` | reads a `clientConfig` |
//! | `services.rs` | finds the address of a Service |
//! | `client.rs`, `trust.rs` | one HTTPS request, and whose certificates it trusts |
//! | `failure.rs` | the texts of failures |
//! | `unfinished.rs` | writes of controllers that wait for a call |

mod calls;
mod client;
mod destination;
mod failure;
mod services;
mod trust;
mod unfinished;

pub(crate) use calls::{Calls, Handler};
pub(crate) use destination::Destination;
pub(crate) use unfinished::{Known, Unfinished};
