//! Controllers over a scripted server, on the paused clock.

mod failures;
mod keys;
mod mapping;
mod memory;
mod sync;
mod world;
