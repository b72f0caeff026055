//! From a request to bytes on a connection: opening, TLS and the pool.

mod connect_error;
mod connector;

pub use connect_error::{ConnectError, ConnectProblem};
pub use connector::{Connector, Io};
