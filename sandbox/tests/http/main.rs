//! The sandbox as its clients see it: everything over HTTP, in memory on the paused clock or over HTTPS.

mod apply;
mod bodies;
mod client;
mod definitions;
mod deletion;
mod faults;
mod hostile;
mod https;
mod kinds;
mod lists;
mod refusals;
mod reviews;
mod watches;
mod writes;
