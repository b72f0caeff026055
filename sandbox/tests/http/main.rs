//! The sandbox as its clients see it: everything over HTTP, in memory on the paused clock or over HTTPS.

mod apply;
mod bodies;
mod client;
mod controls;
mod data;
mod definitions;
mod deletion;
mod faults;
mod folded;
mod hostile;
mod https;
mod kinds;
mod lists;
mod metrics;
#[cfg(all(feature = "program", unix))]
mod program;
mod protobuf;
mod refusals;
mod reviews;
mod snapshots;
mod watches;
mod webhooks;
mod writes;
