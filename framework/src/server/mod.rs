//! An HTTP server for an operator's endpoints: metrics, health and others.
//!
//! [`Routes`] maps paths to functions and tower services. [`Server`] binds an address and serves the routes over HTTP/1.1 and
//! HTTP/2 until it is stopped. With [`Tls`] it serves HTTPS and reads the certificate again when its files
//! change. Without TLS, a client uses HTTP/2 with prior knowledge.
//!
//! Limits and guarantees:
//!
//! * A connection is closed if its TLS handshake takes longer than 10 s, or if the head of its first request
//!   takes longer than another 10 s. A head larger than 64 KiB is refused. A connection without a request is
//!   closed after 10 s (HTTP/1.1) or 90 s (HTTP/2).
//! * A connection is closed if a response is not written and received within 30 s, or if the peer accepts no
//!   bytes of a write for 10 s.
//! * At most 256 connections are open at once, at most 64 of them from one peer. A peer is an IPv4 address, or
//!   an IPv6 network of 64 bits. A new connection beyond the limit is still accepted: the server closes the
//!   longest idle connection of the peer with the most connections. So the health endpoints respond, however
//!   many connections there are.
//! * At most 64 responses run at once, at most 16 of them for one peer; health responses do not count. Further
//!   requests get status 503. A connection with such a response is not closed for another connection.
//! * One HTTP/2 connection runs at most 32 requests at once. It is closed if the peer cancels 100 requests
//!   more than it lets end.
//! * After a stop the server accepts no connections, finishes running requests within 3 s, and
//!   [`Server::run`] returns when all its tasks have ended.
//! * [Protected](Routes::protected) routes respond only to users that the API server authenticates and
//!   authorizes, see [`Reviewer`]. Health routes stay open.
//! * Routes [for hosts](Routes::for_hosts) respond only to requests for one of these hosts, see [`Hosts`].
//! * A handler that panics ends only its own connection, or its own stream in HTTP/2.
//! * A [service](Routes::service) gets at most 1 MiB of a request's body, and has 25 s to return a response. Then the peer
//!   gets status 503. A service that fails or panics becomes status 500.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use pilothouse::{health::Checks, metrics::Metrics, server::{Address, Routes, Server, Tls}};
//! use tokio_util::sync::CancellationToken;
//!
//! let (ready, metrics) = (Checks::new("readyz"), Metrics::new());
//! let tls = Tls::from_files("/certs/tls.crt", "/certs/tls.key", &metrics).await?;
//! let routes = Routes::new().health("/readyz", ready).metrics("/metrics", metrics);
//! let server = Server::bind(&":8443".parse::<Address>()?).await?.tls(tls);
//! let stop = CancellationToken::new();
//! server.run(routes, stop).await;
//! # Ok(()) }
//! ```
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `server.rs` | [`Server`]: binds, accepts, stops |
//! | `address.rs` | [`Address`] to listen on |
//! | `routes.rs`, `reply.rs`, `gzip.rs` | [`Routes`] and how they respond; [`Reply`]; compression |
//! | `service_handler.rs` | the limits of a tower service |
//! | `hosts.rs` | [`Hosts`]: protection against DNS rebinding |
//! | `reviewer.rs`, `review_cache.rs` | [`Reviewer`]: TokenReview and SubjectAccessReview, and their cache |
//! | `refusals.rs` | counts requests that are refused because reviews fail, for the log |
//! | `limits.rs`, `slots.rs` | the limits of connections and responses, and how they are kept |
//! | `connection.rs` | one connection: its HTTP settings and its requests |
//! | `activity.rs`, `response_body.rs` | time limits of a connection, and when a response has been received |
//! | `tls.rs`, `tls_error.rs` | [`Tls`]: the current certificate, and how it is replaced |
//! | `certificate_files.rs`, `self_signed.rs` | a certificate from PEM files; a self-signed one |

mod activity;
mod address;
mod certificate_files;
mod connection;
mod gzip;
mod hosts;
mod limits;
mod refusals;
mod reply;
mod response_body;
mod review_cache;
mod reviewer;
mod routes;
#[cfg(feature = "self-signed")]
mod self_signed;
mod server;
mod service_handler;
mod slots;
#[cfg(test)]
mod tests;
mod tls;
mod tls_error;

pub use address::{Address, InvalidAddress};
pub(crate) use certificate_files::{CertificateFiles, PemPair};
pub use hosts::Hosts;
pub(crate) use limits::Limits;
pub use reply::Reply;
pub use reviewer::Reviewer;
pub use routes::Routes;
pub use server::Server;
pub use tls::Tls;
#[cfg(feature = "self-signed")]
pub(crate) use tls::parse_own;
pub(crate) use tls::{CertificateHandle, ServedCertificate};
pub use tls_error::TlsError;

/// The crate of requests and responses, for routes of your own.
pub use http;
