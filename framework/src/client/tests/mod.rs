//! The client against a small server of its own: on the wire over TLS, and in memory on the paused
//! clock.

mod credentials;
mod discovery;
mod encodings;
mod memory;
mod secrets;
mod server;
mod trust;
mod wire;
