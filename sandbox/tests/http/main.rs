//! The sandbox as its clients see it: everything over HTTP, in memory on the paused clock or over HTTPS.

mod apply;
mod bodies;
mod client;
mod component_statuses;
mod control_faults;
mod controls;
mod data;
mod definitions;
mod deletion;
mod faults;
#[cfg(all(feature = "program", unix))]
mod flags;
mod folded;
mod hostile;
mod https;
mod job_durations;
mod kinds;
mod lists;
mod metrics;
mod migrations;
#[cfg(all(feature = "program", unix))]
mod program;
mod protobuf;
mod proxies;
mod refusals;
mod reviews;
mod snapshots;
mod tokens;
mod watch_paths;
mod watches;
mod webhooks;
mod writes;
