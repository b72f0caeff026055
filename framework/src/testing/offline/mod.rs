//! A reconciler under test without a server.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `offline.rs` | [`Offline`]: runs a reconciler on objects in memory, and shows its writes |
//! | `objects.rs` | the objects, and the answers that an API server would give |
//! | `sent.rs` | [`Sent`]: one write |

mod objects;
mod offline;
mod sent;
#[cfg(test)]
mod tests;

pub use offline::Offline;
pub use sent::Sent;
