//! Both commands on the sandbox's API server.

mod adopting;
mod uninstalling;
mod world;
