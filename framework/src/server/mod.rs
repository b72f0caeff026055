//! One listener for what an operator shows: metrics, health, and more.
//!
//! [`Routes`] says which path is answered by which function; [`Server`] binds an address and serves
//! them over HTTP/1.1 and HTTP/2 until it is told to stop. With [`Tls`] it speaks HTTPS, with a certificate that
//! is read again when its files change; without, HTTP/2 is by prior knowledge.
//!
//! * A connection that does not finish its TLS handshake within 10 s, or its first request's head within another 10 s,
//!   is closed; a head larger than 64 KiB is refused. One on which nothing is asked is closed after 10 s
//!   (HTTP/1.1) or 90 s (HTTP/2).
//! * An answer that is not given and taken within 30 s ends its connection, as does a write of which the peer takes
//!   nothing for 10 s.
//! * At most 256 connections are open at once, 64 of them from one peer (an IPv4 address, or an IPv6 network of 64
//!   bits). A further one is served all the same: it closes another connection of the peer with the most of them, the
//!   one on which nothing was asked or answered for longest. So health is answered however many connections there are.
//! * At most 64 answers other than health's are given at once, 16 of them to one peer; further requests are answered
//!   with 503. A connection with one of these answers is not closed for another one.
//! * On one connection of HTTP/2 at most 32 requests are answered at once, and one that takes back more than 100 is
//!   closed.
//! * On stop no connection is accepted any more, answers that were begun are finished for at most
//!   3 s, and every task has ended when [`Server::run`] returns.
//! * Routes that are [protected](Routes::protected) answer only those whom the API server knows and allows to read
//!   them, see [`Reviewer`]. Health stays open.
//! * Routes [for hosts](Routes::for_hosts) answer only requests for one of these hosts, see [`Hosts`].
//! * A handler that panics ends its own connection, or stream of HTTP/2, and nothing else.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use pilothouse::{health::Checks, metrics::Metrics, server::{Address, Routes, Server, Tls}};
//! use tokio_util::sync::CancellationToken;
//!
//! let (ready, metrics) = (Checks::new("readyz"), Metrics::new());
//! let tls = Tls::from_files("/certs/tls.crt", "/certs/tls.key", metrics.certificate()).await?;
//! let routes = Routes::new().health("/readyz", ready).metrics("/metrics", metrics);
//! let server = Server::bind(&":8443".parse::<Address>()?).await?.tls(tls);
//! let stop = CancellationToken::new();
//! server.run(routes, stop).await;
//! # Ok(()) }
//! ```

mod activity;
mod address;
mod answer_body;
mod certificate_files;
mod connection;
mod gzip;
mod hosts;
mod listener;
mod reply;
mod review_cache;
mod reviewer;
mod routes;
#[cfg(feature = "self-signed")]
mod self_signed;
mod slots;
#[cfg(test)]
mod tests;
mod tls;
mod tls_error;

pub use address::{Address, InvalidAddress};
pub use hosts::Hosts;
pub use listener::Server;
pub use reply::Reply;
pub use reviewer::Reviewer;
pub use routes::Routes;
pub use tls::Tls;
pub use tls_error::TlsError;
