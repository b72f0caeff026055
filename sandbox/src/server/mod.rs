//! HTTP: connections, paths, content negotiation and bodies around the rules in `api`.

mod body;
mod connection;
mod documents;
mod https;
mod negotiate;
mod query;
mod resource;
mod respond;
mod route;
mod service;

pub(crate) use connection::serve_connection;
pub use https::HttpsServer;
