//! SPDY/3.1, as far as Kubernetes clients use it: streams of bytes with headers over one upgraded connection, or inside a WebSocket. It is how
//! kubectl forwards ports, and how older versions of it execute and attach.
//!
//! A peer opens streams, and the server accepts them. The server opens none, ignores priorities, and controls the flow of the connection as a whole, as
//! the clients do. The sizes of frames and headers and the number of streams are bounded.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `frame.rs` | the frames |
//! | `headers.rs`, `dictionary.rs` | the headers of a stream, which are compressed |
//! | `connection.rs` | [`serve`]: one connection and its [`SpdyStream`]s |

mod connection;
mod dictionary;
mod frame;
mod headers;

#[cfg(test)]
pub(super) mod client;

pub(super) use connection::{SpdyStream, serve};
