//! A controller's contexts without a server.

mod objects;
#[allow(clippy::module_inception)]
mod offline;
mod refill;
mod sent;
#[cfg(test)]
mod tests;

pub use offline::Offline;
pub(super) use refill::{Refill, refill};
pub use sent::Sent;
