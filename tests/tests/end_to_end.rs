//! Whole operators over the real client, on the sandbox in memory or over HTTPS.
//!
//! The tests are modules of one program, because each program of tests is built and linked on its own.

mod bad_input;
mod cache;
mod children;
mod client_go;
mod compatible;
mod controller;
mod crd;
mod debug;
mod definitions;
mod discovery;
mod dynamic;
mod election;
mod events;
mod exit;
mod failures;
mod gallery;
mod metrics;
mod mistakes;
mod moving;
mod ordered;
mod own_parts;
mod packages;
mod probe;
mod production;
mod promises;
mod protobuf;
mod read_your_writes;
mod representations;
mod roles;
mod rules;
mod serving;
mod shared_secret;

mod shared_watch;
mod sources;
mod status;
mod stories;
mod webhooks;
mod without_conditions;
