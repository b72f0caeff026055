//! HTTP: connections, paths, content negotiation and bodies around the rules in `api`.

mod body;
mod cbor;
mod compress;
mod connection;
mod documents;
mod https;
mod negotiate;
mod options;
mod patch;
mod permitted;
mod pods;
mod query;
mod read;
mod render;
mod resource;
mod respond;
mod reviews;
mod route;
mod service;
mod stream;
mod write;

pub(crate) use connection::serve_connection;
pub use https::HttpsServer;
