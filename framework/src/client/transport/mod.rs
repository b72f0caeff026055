//! From a request to bytes on a connection: opening, TLS and the pool.

mod cleartext;
mod connect_error;
mod connection;
mod connector;
mod current_tls;
mod dialer;
mod fenced_io;
mod heard;
mod http1;
mod lease;
mod pool;
mod proxy;
mod roots_file;
mod shelf;
mod tcp;
mod tls;
mod unread;
mod upgrade;

pub use connect_error::{ConnectError, ConnectProblem};
pub use connector::{Connector, Io};
pub use proxy::ProxyProblem;

pub(crate) use current_tls::CurrentTls;
pub(crate) use dialer::Dialer;
pub use pool::Pool;
pub(crate) use pool::{connection_broke, was_not_processed};
pub(crate) use tls::certified;
pub(crate) use unread::Lagged;
