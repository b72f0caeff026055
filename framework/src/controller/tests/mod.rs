//! Controllers over a scripted server, on the paused clock.

mod failures;
mod keys;
mod mapping;
mod sync;
mod world;
