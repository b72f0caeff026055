//! The HTTP server: connections, paths, content negotiation and bodies around the rules in `api`.
//!
//! A request passes through these files in this order:
//!
//! | file | what it does |
//! | --- | --- |
//! | `https.rs`, `client_certificate.rs`, `connection.rs` | accept connections, and serve HTTP on them |
//! | `unread.rs` | reads what a handler leaves of a body, so that the connection can go on |
//! | `service.rs` | authenticates, authorizes, injects faults, records; calls one of the handlers below |
//! | `route.rs`, `query.rs`, `request.rs` | parse the path and query; the request types |
//! | `deadline.rs` | how long the server works on a request |
//! | `access.rs` | authorization and impersonation |
//! | `controls.rs`, `pod_controls.rs` | faults, snapshots, the clock, recorded requests, and rules for Pods and nodes, for clients in any language |
//! | `documents.rs`, `health.rs`, `metrics.rs` | discovery and OpenAPI; health checks; metrics |
//! | `reviews.rs`, `review_selectors.rs` | token and access reviews |
//! | `component_statuses.rs` | the states of the components of a control plane |
//! | `resource.rs` | resources: checks the verb, reads the body, calls `read`, `write` or `pods` |
//! | `negotiate.rs`, `body.rs`, `encoding.rs`, `cbor.rs`, `protobuf.rs`, `compress.rs` | content types, in both directions |
//! | `options.rs` | the options of a request |
//! | `read.rs`, `stream.rs`, `watch_path.rs` | get, list and watch |
//! | `write.rs`, `patch.rs` | every change |
//! | `pods/` | log, exec, attach and port-forward |
//! | `proxy/` | requests that are passed on to a program in a Pod |
//! | `render.rs`, `respond.rs`, `warnings.rs` | responses |
//!
//! `compress.rs` does not use tower-http, which reads `Accept-Encoding` as the HTTP specification says. kube-apiserver knows
//! neither weights nor `*` (test `only_the_plain_word_gzip_is_accepted_as_by_kube_apiserver`).

mod access;
pub(crate) mod body;
pub(crate) mod cbor;
#[cfg(feature = "client-certificates")]
mod client_certificate;
mod component_statuses;
mod compress;
mod connection;
mod controls;
mod deadline;
mod documents;
mod encoding;
mod health;
mod https;
mod identity;
mod metrics;
mod negotiate;
mod options;
mod patch;
mod pod_controls;
mod pods;
mod protobuf;
mod proxy;
mod query;
mod read;
mod render;
mod request;
mod resource;
mod respond;
mod review_selectors;
mod reviews;
mod route;
mod service;
mod stream;
#[cfg(test)]
mod tests;
mod unread;
mod warnings;
mod watch_path;
mod write;

pub(crate) use connection::serve_connection;
pub use https::{HttpsOptions, HttpsServer};

/// The beginning of the paths of the controls of a test.
const CONTROLS: &str = "/sandbox/";
