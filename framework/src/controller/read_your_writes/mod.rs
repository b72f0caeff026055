//! Read your writes (design promise R5): a key is not reconciled again before the caches have what
//! its last reconcile wrote.
//!
//! `core.rs` is what decides, a state machine without tokio, `shared.rs` the lock around it; both are
//! model-checked as shipped. [`ReadYourWrites`] brings them together with the informers (`cached.rs`), the
//! queue and the API server, which `settle.rs` asks where the caches do not get there. `catch_up.rs`
//! keeps the first reconcile back until the caches hold what the API server had, and what a former leader wrote.

mod cached;
mod catch_up;
mod core;
mod demand;
mod follower;
mod informers;
mod settle;
mod shared;
mod sync;
mod writes;

#[cfg(test)]
mod core_test;
#[cfg(test)]
mod shared_test;

pub(super) use informers::Followed;
pub(super) use writes::ReadYourWrites;
