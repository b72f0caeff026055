//! One plain HTTP listener: metrics, health, and what else an operator shows.
//!
//! [`Routes`] says which path is answered by which function; [`Server`] binds an address and serves
//! them over HTTP/1.1 and HTTP/2 (prior knowledge) until it is told to stop.
//!
//! * A connection that does not send its request's head within 10 s is closed; a head larger than
//!   64 KiB is refused. At most 256 connections are open at once, further ones wait.
//! * On stop no connection is accepted any more, answers that were begun are finished for at most
//!   3 s, and every task has ended when [`Server::run`] returns.
//! * A handler that panics ends its own connection and nothing else.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use pilothouse::{health::Checks, server::{Address, Routes, Server}};
//! use tokio_util::sync::CancellationToken;
//!
//! let ready = Checks::new("readyz");
//! let routes = Routes::new().health("/readyz", ready);
//! let server = Server::bind(&":8080".parse::<Address>().unwrap()).await?;
//! let stop = CancellationToken::new();
//! server.run(routes, stop).await;
//! # Ok(()) }
//! ```

mod address;
mod listener;
mod routes;

pub use address::{Address, InvalidAddress};
pub use listener::Server;
pub use routes::{Reply, Routes};
