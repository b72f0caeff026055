//! The [`Client`]: one handle for all requests to one API server, as client-go's package `rest`.
//!
//! A client holds the [stack](super::stack) of layers and what the requests of all its clones share. A typed request is a
//! [`Call`], which knows its path and the text of its errors.
//!
//! | file | holds |
//! | --- | --- |
//! | `client.rs` | [`Client`], and the clients derive of it: with own connections, fenced, guarded |
//! | `builder.rs` | [`ClientBuilder`]: builds the stack from a [`Config`](super::Config) |
//! | `stack_factory.rs` | builds the same stack again for further clients |
//! | `call.rs` | [`Call`]: verb, kind, namespace and name of one request |
//! | `identity.rs` | whether an answer is about the object of a [`Call`] |
//! | `send.rs` | sends a [`Call`], and falls back to JSON if the server refuses the encoding |
//! | `response.rs` | reads whole answers, and the errors among them |
//! | `raw_request.rs` | requests for which no verb exists |
//! | `upgrade.rs` | requests that continue in another protocol: [`Upgraded`] |

mod builder;
mod call;
mod client;
mod identity;
mod raw_request;
mod response;
mod send;
mod stack_factory;
mod upgrade;

pub use builder::ClientBuilder;
pub(crate) use call::Call;
pub use client::Client;
pub use upgrade::Upgraded;
