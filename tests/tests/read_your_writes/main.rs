//! Read your writes (design promise R5), over the whole client and the sandbox, in memory: caches whose
//! events a test holds back, and what the controller does meanwhile. One test per clause of the promise.

mod backwards;
mod deletions;
mod missing;
mod opaque;
mod questions;
mod rewriting;
mod scope;
mod status;
mod takeover;
mod waiting;
mod world;
